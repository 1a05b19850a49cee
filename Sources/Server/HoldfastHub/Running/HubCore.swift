import Foundation
import HoldfastServer
import Logging
import MachineCore
import NIOCore
public import RoomCore
import WebSocketRuntime

/// The hub on its event loop: tells its machine what happens, and carries out what it orders.
///
/// SAFETY: all is touched on the loop of `host` only, but for what is constant and what says otherwise.
final class HubCore: HostedServer, @unchecked Sendable {
    typealias Client = Visitor
    typealias Local = HubLocal

    /// What may wait of what other nodes tell; more is lost.
    private static let mostHeard = 10_000
    /// Requests of the server's own that may wait.
    private static let mostRequests = 1000

    let host: MachineHost<HubCore>
    let configuration: HubConfiguration
    let gauges: HubGauges
    /// What the devices under which this hub publishes begin with.
    let ownDevices = UInt64.random(in: 0 ... .max)
    /// Under which devices it stores what has a name of its own.
    let names: PublicationNames
    let gate: TokenGate
    let desk: LogDesk
    private(set) var machine: HubMachine
    private var effects: [HubEffect] = []
    /// Spare memory for ``effects``.
    private var performing: [HubEffect] = []
    private let bus: any EphemeralBus
    private var subscription: BusSubscription?
    /// What nodes have told and the machine has not heard.
    private let heard = LockedValue<[BusMessage]>([])
    private var requests: [UInt64: EventLoopPromise<ServerAnswer>] = [:]
    private var lastRequest: UInt64 = 0
    private var isCarryingOut = false

    init(
        _ configuration: HubConfiguration, machine: HubMachine, log: any RoomLog, bus: any EphemeralBus, authority: any HubAuthority,
        loops: [any EventLoop], names: PublicationNames = .drawn()
    ) {
        let (gauges, gate) = (HubGauges(), TokenGate(authority))
        (self.configuration, self.machine, self.bus, self.names) = (configuration, machine, bus, names)
        (self.gauges, self.gate) = (gauges, gate)
        desk = LogDesk(log, loop: loops[0], gauges: gauges)
        // Time that the machine sleeps is none in which a client is silent.
        host = MachineHost(loops, time: LinkTime(SuspendingClock()), fewInputs: 32) { HubLocal(configuration.lanes, gauges, gate) }
        host.serve(self)
    }

    /// Begins: the calendar is what the machine hears first.
    func start() {
        subscription = bus.subscribe { [weak self] in self?.overhear($0) }
        host.submit([.calendar(HubCalendar.now)])
    }

    // MARK: - Inputs

    var deadline: Moment? { machine.deadline }
    func wake(at now: Moment) { machine.wake(at: now, into: &effects) }
    func hear(_ input: HubInput, at now: Moment) { machine.handle(input, at: now, into: &effects) }

    /// What a node tells, on any thread; the machine hears it with the next turn.
    private func overhear(_ message: BusMessage) {
        let isFirst = heard.withLockedValue { heard in
            guard heard.count < Self.mostHeard else { return false }
            heard.append(message)
            return heard.count == 1
        }
        guard isFirst else { return }
        // Our own are heard at the end of the turn that tells them.
        if host.loop.inEventLoop, isCarryingOut { return }
        host.submit([])
    }

    // MARK: - Effects

    func carryOut(at now: Moment) {
        isCarryingOut = true
        repeat {
            swap(&effects, &performing)
            for effect in performing { perform(effect) }
            performing.removeAll(keepingCapacity: true)
            let messages = heard.withLockedValue { heard in
                defer { heard = [] }
                return heard
            }
            for message in messages { hear(.heard(message), at: now) }
        } while !effects.isEmpty
        isCarryingOut = false
        desk.flush()
        if host.isToldToStop, requests.isEmpty, gauges.connections == 0 { host.hasStopped() }
    }

    private func perform(_ effect: HubEffect) {
        switch effect {
        case .send(let frame, let id): host.put(.send(frame, to: id), for: id)
        case .fanOut(let frame, let members):
            guard let first = members.first else { return }
            let parcel = HubParcel.fanOut(SharedFrame(frame, for: gauges.encodings), to: members)
            if members.count == 1 { host.put(parcel, for: first) } else { host.putEverywhere(parcel) }
        case .close(let id, let code, let reason): host.put(.close(id, code: code, reason: reason), for: id)
        case .authenticate(let id, let token): host.put(.authenticate(id, token: token), for: id)
        case .log(let order): desk.order(order)
        case .tell(let message): bus.publish(message)
        case .rewound(let place, let room):
            configuration.logger.error(
                "the log of a room went back: it gets a new epoch, and clients get snapshots",
                metadata: ["room": "\(room)", "head": "\(place)"])
        case .answer(let request, let answer): requests.removeValue(forKey: request.number)?.succeed(answer)
        }
    }

    // MARK: - Errands

    /// Publishes in the name of the server; on any thread.
    func publish(_ room: RoomName, _ device: DeviceID, _ user: UserName, _ publication: Publication) async throws -> ServerAnswer {
        let promise = host.loop.makePromise(of: ServerAnswer.self)
        host.loop.execute {
            guard self.requests.count < Self.mostRequests, !self.host.isStopping else { return promise.fail(HubError.stopped) }
            self.lastRequest += 1
            self.requests[self.lastRequest] = promise
            self.host.take([.publish(ServerRequest(self.lastRequest), room, device, user, publication)])
        }
        return try await promise.futureResult.get()
    }

    /// What the machine has counted; on any thread.
    func figures() async throws -> HubFigures { try await host.loop.submit { self.machine.figures }.get() }

    /// The rooms in which most happens; on any thread.
    ///
    /// It takes a look at all rooms.
    func busiest(_ count: Int) async throws -> (byMembers: [RoomFigures], byPace: [RoomFigures]) {
        try await host.loop.submit { self.machine.busiest(count, at: self.host.time.now()) }.get()
    }

    /// Says goodbye to all clients, and waits for them to go and for what the server itself publishes to be stored, though not for longer
    /// than the policy allows.
    func stop() async { await host.stop(.stop, within: configuration.policy.drain + .seconds(2)) }

    /// Ends what runs; nothing is asked any more.
    func finish() {
        subscription?.cancel()
        gate.finish()
        desk.finish()
        host.finish { core in
            for promise in core.requests.values { promise.fail(HubError.stopped) }
            core.requests = [:]
        }
    }

    /// Publishes in the name of a user.
    ///
    /// - Parameters:
    ///   - program: The key of the program that publishes; nil: the one that the hub is a part of.
    ///   - isNamed: Whether `id` is the program's name for it, under which it is stored once however often this is called within a day.
    ///     It then has a device of its own, which is remembered for so long; all others of a user share one.
    func publish(
        to room: RoomName, from user: UserName, _ content: Publication.Content, id: MessageID, program: String? = nil,
        isNamed: Bool = true, sent: Int64 = HubCalendar.now
    ) async throws -> HubPublication {
        let publication = Publication(cseq: isNamed ? 1 : 0, id: id, sent: sent, content: content)
        let device = isNamed ? names.device(for: id, of: user, program: program) : ownDevice(of: user)
        switch try await publish(room, device, user, publication) {
        case .stored(let epoch, let ack):
            return HubPublication(position: LogPosition(epoch: epoch, seq: ack.seq), at: ack.at, isDuplicate: ack.isDuplicate)
        case .refused(let refusal): throw PublishingRefusal(refusal: refusal)
        }
    }

    /// A device belongs to one user, so each has one of this hub's; another one in its next life.
    private func ownDevice(of user: UserName) -> DeviceID {
        DeviceID(Bits128(high: ownDevices, low: UInt64(truncatingIfNeeded: user.hashValue)))
    }
}

/// What the hub has stored for the server itself.
public struct HubPublication: Hashable, Sendable {
    /// Its place in the room's order; a number of 0 if retention has passed it.
    public var position: LogPosition
    /// When it was stored, in milliseconds since 1970 UTC.
    public var at: Int64
    /// Whether it had been there before.
    public var isDuplicate: Bool
}

/// Why the hub did not store what the server itself published.
public struct PublishingRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// What happened, and whether to try again.
    public var refusal: Refusal

    /// For people.
    public var description: String { "not stored (\(refusal.code)): \(refusal.text)" }
}
