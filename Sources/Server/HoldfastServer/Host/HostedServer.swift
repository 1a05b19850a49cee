public import MachineCore
public import NIOCore

/// A server whose rules are one machine, as its ``MachineHost`` knows it.
///
/// All is called on the machine's event loop, but for ``deliver(_:sentAt:at:)``.
@usableFromInline package protocol HostedServer: AnyObject, Sendable {
    /// Names a connection.
    associatedtype ID: HostedID
    /// What can happen to the machine.
    associatedtype Input: Sendable
    /// One client, on its event loop.
    associatedtype Client: HostedClient where Client.ID == ID
    /// What the machine's event loop has for that of a client.
    associatedtype Parcel: Sendable
    /// What each event loop has of its own.
    associatedtype Local: AnyObject

    /// When the machine is to be woken.
    var deadline: Moment? { get }
    /// Wakes the machine.
    func wake(at now: Moment)
    /// Tells the machine what has happened.
    func hear(_ input: Input, at now: Moment)
    /// Carries out what the machine has ordered in this turn; parcels go to ``MachineHost/put(_:for:)``.
    func carryOut(at now: Moment)
    /// Hands over what the machine's event loop sent at `at`, on the event loop of the port.
    static func deliver(_ parcels: [Parcel], sentAt at: NIODeadline, at port: HostPort<Self>)
}

/// One client of a ``HostedServer``, on its event loop.
@usableFromInline package protocol HostedClient: AnyObject {
    associatedtype ID: HostedID
    /// Its connection; nil before it has come, and when it has gone.
    var id: ID? { get }
    /// The machine has dealt with something that the client said and that cost so much.
    func settled(_ cost: Int)
}

/// Names a connection, and says where it is served, so that nobody has to look for it.
@usableFromInline package protocol HostedID: Hashable, Sendable {
    var number: UInt64 { get }
    init(_ number: UInt64)
}

extension HostedID {
    @inlinable static var portBits: UInt64 { 10 }
    @inlinable static var slotBits: UInt64 { 22 }
    /// How many connections one event loop can have.
    @inlinable static var mostSlots: Int { 1 << Int(slotBits) }
    /// How many event loops there can be.
    @inlinable package static var mostPorts: Int { 1 << Int(portBits) }

    /// The `count`-th connection of a port, in one of its slots; `count` makes it unique.
    @inlinable package init(count: UInt64, slot: Int, port: Int) {
        self.init((count << Self.slotBits | UInt64(slot)) << Self.portBits | UInt64(port))
    }

    /// The event loop.
    @inlinable package var port: Int { Int(number & UInt64(Self.mostPorts - 1)) }
    /// The place there.
    @inlinable package var slot: Int { Int(number >> Self.portBits & UInt64(Self.mostSlots - 1)) }
}
