public import DequeModule
public import MachineCore
public import NIOCore
import NIOPosix
import WebSocketCore
package import WebSocketNIO
public import WebSocketRuntime

/// Runs a server's machine on one event loop, for clients on all of them: the one shell of all servers whose rules are a machine.
///
/// What clients say comes in batches, and what they are told goes back so. When it is too much for a turn of the loop, clients take turns,
/// and the loop's sockets get theirs meanwhile.
///
/// SAFETY: all is touched on `loop` only, but for what is constant and what says otherwise. All that is done for each message is inlinable.
@usableFromInline package final class MachineHost<Server: HostedServer>: @unchecked Sendable {
    /// So many inputs of clients are handled before the loop's sockets get their turn, unless that took long before.
    @inlinable package static var mostInTurn: Int { 256 }
    @inlinable static var longestTurn: TimeAmount { .milliseconds(5) }
    /// For how long a turn that is to be continued waits.
    ///
    /// A loop carries out all tasks that are due before it looks after its sockets.
    @inlinable static var pause: TimeAmount { .microseconds(50) }

    @usableFromInline package let loop: any EventLoop
    @usableFromInline package let time: LinkTime
    /// So few inputs need no line.
    @usableFromInline let fewInputs: Int
    @usableFromInline var server: Server?
    /// Constant until the host is finished.
    @usableFromInline var ports: [HostPort<Server>] = []
    @usableFromInline var parcels: [[Server.Parcel]] = []
    /// The same ports for any thread.
    private let directory = LockedValue<[HostPort<Server>]>([])
    /// What clients said beyond what one turn is for.
    @usableFromInline var backlog = FairQueue<Server.ID, HostedSaying<Server>>()
    @usableFromInline var isTurnDue = false
    @usableFromInline let timer: DeadlineTimer
    private let isStoppingBox = LockedValue(false)
    private let stopped = LinkOutcome<Void>()
    /// The machine has been told to stop.
    package private(set) var isToldToStop = false

    /// - Parameters:
    ///   - loops: Those of the clients; the machine runs on the first.
    ///   - fewInputs: So many inputs that come together are handled at once, whoever they are of.
    ///   - local: What the server has on one event loop.
    package init(_ loops: [any EventLoop], time: LinkTime, fewInputs: Int, local: () -> Server.Local) {
        (loop, self.time, self.fewInputs, timer) = (loops[0], time, fewInputs, DeadlineTimer(time))
        ports = loops.prefix(Server.ID.mostPorts).enumerated().map { HostPort($1, number: $0, host: self, local: local()) }
        parcels = ports.map { _ in [] }
        directory.withLockedValue { $0 = ports }
    }

    /// Begins to work for the server; before anything else is done.
    package func serve(_ server: Server) { self.server = server }

    /// The port of an event loop that the host was given, on any thread; nil: the host is finished.
    package func port(of loop: any EventLoop) -> HostPort<Server>? { directory.withLockedValue { $0.first { $0.loop === loop } } }

    /// The port of this number, on any thread; nil: the host is finished.
    package func port(number: Int) -> HostPort<Server>? {
        directory.withLockedValue { $0.indices.contains(number) ? $0[number] : nil }
    }

    /// Makes the handler of a connection on the present event loop; once the host is finished, the connection is closed.
    package func handler(_ make: (HostPort<Server>) -> any InlineHandler) -> any InlineHandler {
        MultiThreadedEventLoopGroup.currentEventLoop.flatMap(port(of:)).map(make) ?? ClosingHandler()
    }

    // MARK: - Inputs

    /// Tells the machine what has happened, in order, and starts what it orders.
    package func take(_ inputs: [Server.Input]) {
        turn { server, now in
            for input in inputs { server.hear(input, at: now) }
            return []
        }
    }

    /// The same from any thread.
    package func submit(_ inputs: [Server.Input]) { loop.execute { self.take(inputs) } }

    /// Tells the machine what clients have said; what is too much for a turn waits for the next ones.
    ///
    /// So probes, other clients and what the server waits for do not wait for all of it.
    @inlinable package func take(_ sayings: [HostedSaying<Server>]) {
        guard !backlog.isEmpty || sayings.count > fewInputs else {
            return turn { server, now in
                for saying in sayings { server.hear(saying.input, at: now) }
                return sayings
            }
        }
        guard server != nil else { return }
        for saying in sayings { backlog.add(saying, of: saying.id) }
        if !isTurnDue { takeTurn() }
    }

    @inlinable func takeTurn() {
        turn { server, now in
            let end = NIODeadline.now() + Self.longestTurn
            var heard: [HostedSaying<Server>] = []
            repeat {
                for saying in backlog.next() {
                    server.hear(saying.input, at: now)
                    heard.append(saying)
                }
            } while !backlog.isEmpty && heard.count < Self.mostInTurn && .now() < end
            isTurnDue = !backlog.isEmpty
            if isTurnDue { loop.assumeIsolated().scheduleTask(in: Self.pause) { self.takeTurn() } }
            return heard
        }
    }

    /// One turn of the machine: wakes it if it is time, and carries out what it orders.
    ///
    /// - Parameter tell: Tells it what has happened, and returns what clients said of that.
    @inlinable package func turn(_ tell: (Server, Moment) -> [HostedSaying<Server>] = { _, _ in [] }) {
        guard let server else { return }
        let now = time.now()
        if let deadline = server.deadline, deadline <= now { server.wake(at: now) }
        let sayings = tell(server, now)
        let at = NIODeadline.now()
        server.carryOut(at: now)
        post(at, debts(of: sayings))
        guard let deadline = server.deadline, timer.ringsAfter(deadline) else { return }
        timer.set(deadline) { [weak self, loop] in loop.execute { [weak self] in self?.turn() } }
    }

    // MARK: - Parcels

    /// Lets something wait for the client's event loop, until this turn ends.
    @inlinable package func put(_ parcel: Server.Parcel, for id: Server.ID) {
        // There are no ports any more once the server is gone.
        if id.port < parcels.count { parcels[id.port].append(parcel) }
    }

    /// The same for all event loops.
    @inlinable package func putEverywhere(_ parcel: Server.Parcel) { for port in parcels.indices { parcels[port].append(parcel) } }

    /// One hop for each event loop and burst.
    @inlinable func post(_ at: NIODeadline, _ debts: [Debt<Server>]) {
        let busy = ports.filter { !parcels[$0.number].isEmpty }
        for debt in debts { debt.await(busy.count) }
        for port in busy {
            let load = parcels[port.number]
            parcels[port.number] = []
            // Even on the own loop not before this turn ends: delivering may bring new inputs.
            port.loop.execute {
                Server.deliver(load, sentAt: at, at: port)
                for debt in debts { debt.delivered() }
            }
        }
    }

    /// What clients owe is settled when all that follows from it is with the clients' connections, or waits for them within their bounds.
    @inlinable func debts(of sayings: [HostedSaying<Server>]) -> [Debt<Server>] {
        var owed: [Int: [Debt<Server>.Item]] = [:]
        for saying in sayings where saying.cost > 0 { owed[saying.id.port, default: []].append((saying.id, saying.cost)) }
        return owed.compactMap { $0 < ports.count ? Debt($1, of: ports[$0]) : nil }
    }

    // MARK: - The end

    /// Whether nobody new is taken any more; on any thread.
    package var isStopping: Bool { isStoppingBox.withLockedValue(\.self) }

    /// Tells the machine to stop, and waits for ``hasStopped()``, though not for longer than `patience`; on any thread.
    package func stop(_ input: Server.Input, within patience: Duration) async {
        let isFirst = isStoppingBox.withLockedValue { isStopping in
            defer { isStopping = true }
            return !isStopping
        }
        if isFirst {
            loop.execute {
                self.isToldToStop = true
                self.take([input])
                self.loop.assumeIsolated().scheduleTask(in: .nanoseconds(patience.wholeNanoseconds)) { self.hasStopped() }
            }
        }
        await stopped.wait()
    }

    /// The server has done all that was to be done before the end.
    package func hasStopped() { stopped.settle(()) }

    /// Ends what runs, on any thread; nothing is asked any more, and `last` is what the server does at the end.
    package func finish(_ last: @escaping @Sendable (Server) -> Void) {
        isStoppingBox.withLockedValue { $0 = true }
        loop.execute {
            self.timer.cancel()
            if let server = self.server { last(server) }
            // They hold each other.
            (self.server, self.ports, self.parcels) = (nil, [], [])
            self.backlog = FairQueue()
            self.directory.withLockedValue { $0 = [] }
        }
    }
}

/// Closes a connection that came too late.
private final class ClosingHandler: InlineHandler {
    func opened(_ socket: InlineSocket) { socket.close(code: .goingAway, reason: "the server stops") }
    func received(_ kind: MessageKind, _ bytes: RawSpan, on socket: InlineSocket) {}
    func ended(_ result: Result<CloseRecord, TransportError>) {}
}

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

/// What waits for a turn of an event loop: a line for each client, and clients take turns.
///
/// So whoever says very much at once holds up mostly itself. It has no bound of its own: whoever fills it reads no more of a client of
/// which much waits.
@usableFromInline package struct FairQueue<Key: Hashable & Sendable, Item: Sendable>: Sendable {
    /// So many of one client go in a row.
    @inlinable package static var inARow: Int { 8 }

    @usableFromInline var lines: [Key: Deque<Item>] = [:]
    /// Those who have a line; the first is next.
    @usableFromInline var turns: Deque<Key> = []

    /// Nothing waits.
    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { turns.isEmpty }

    /// Adds to the end of a client's line.
    @inlinable package mutating func add(_ item: Item, of key: Key) {
        guard lines[key]?.append(item) == nil else { return }
        lines[key] = [item]
        turns.append(key)
    }

    /// What is next of the one whose turn it is; what one client says keeps its order.
    @inlinable package mutating func next() -> [Item] {
        guard let key = turns.popFirst(), var line = lines.removeValue(forKey: key) else { return [] }
        let items = Array(line.prefix(Self.inARow))
        line.removeFirst(items.count)
        if !line.isEmpty {
            lines[key] = line
            turns.append(key)
        }
        return items
    }
}
