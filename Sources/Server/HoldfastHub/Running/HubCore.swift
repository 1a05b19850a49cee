import HoldfastServer
import Logging
import MachineCore
import NIOCore
public import RoomCore
import WebSocketRuntime

/// Runs the hub on its event loop: passes inputs to its state machine and carries out its effects.
///
/// SAFETY: the state is touched only on the event loop of `host`, except for constants and where a comment says otherwise.
final class HubCore: HostedServer, @unchecked Sendable {
    typealias Client = HubConnection
    typealias Local = HubLocal

    /// The maximum number of queued messages from other nodes; more are dropped.
    private static let mostHeard = 10_000
    /// The maximum number of pending requests of the server itself.
    private static let mostRequests = 1000

    let host: MachineHost<HubCore>
    let configuration: HubConfiguration
    let gauges: HubGauges
    /// The prefix of the device IDs under which this hub publishes.
    let ownDevices = UInt64.random(in: 0 ... .max)
    /// Derives the device IDs for publications with their own names.
    let names: PublicationNames
    let gate: TokenGate
    let logDriver: LogDriver
    private(set) var machine: HubMachine
    private var effects: [HubEffect] = []
    /// Spare memory for ``effects``.
    private var performing: [HubEffect] = []
    private let bus: any EphemeralBus
    private var subscription: BusSubscription?
    /// Messages of nodes that the machine has not processed yet.
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
        logDriver = LogDriver(log, loop: loops[0], gauges: gauges)
        // Time while the computer sleeps does not count as silence of a client.
        host = MachineHost(loops, time: LinkTime(SuspendingClock()), fewInputs: 32) { HubLocal(configuration.lanes, gauges, gate) }
        host.serve(self)
    }

    /// Starts the hub; the machine's first input is the current time.
    func start() {
        subscription = bus.subscribe { [weak self] in self?.receive($0) }
        host.submit([.calendar(WallClock.milliseconds)])
    }

    // MARK: - Inputs

    var deadline: Moment? { machine.deadline }
    func wake(at now: Moment) { machine.wake(at: now, into: &effects) }
    func handle(_ input: HubInput, at now: Moment) { machine.handle(input, at: now, into: &effects) }

    /// Queues a message of a node, on any thread; the machine processes it in the next turn.
    private func receive(_ message: BusMessage) {
        let isFirst = heard.withLockedValue { heard in
            guard heard.count < Self.mostHeard else { return false }
            heard.append(message)
            return heard.count == 1
        }
        guard isFirst else { return }
        // Messages of this hub are processed at the end of the current turn.
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
            for message in messages { handle(.heard(message), at: now) }
        } while !effects.isEmpty
        isCarryingOut = false
        logDriver.flush()
        if host.isToldToStop, requests.isEmpty, gauges.connections == 0 { host.hasStopped() }
    }

    private func perform(_ effect: HubEffect) {
        switch effect {
        case .send(let frame, let id): host.put(.send(frame, to: id), for: id)
        case .fanOut(let frame, let members):
            guard let first = members.first else { return }
            let output = HubOutput.fanOut(SharedFrame(frame, for: gauges.encodings), to: members)
            if members.count == 1 { host.put(output, for: first) } else { host.putEverywhere(output) }
        case .close(let id, let code, let reason): host.put(.close(id, code: code, reason: reason), for: id)
        case .authenticate(let id, let token): host.put(.authenticate(id, token: token), for: id)
        case .log(let order): logDriver.order(order)
        case .notify(let message): bus.publish(message)
        case .rewound(let place, let room):
            configuration.logger.error(
                "the log of a room went back: it gets a new epoch, and clients get snapshots",
                metadata: ["room": "\(room)", "head": "\(place)"])
        case .answer(let request, let answer): requests.removeValue(forKey: request.number)?.succeed(answer)
        }
    }

    // MARK: - Requests of the server

    /// Publishes as the server; on any thread.
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

    /// Returns the machine's counters; on any thread.
    func figures() async throws -> HubFigures { try await host.loop.submit { self.machine.figures }.get() }

    /// Returns the busiest rooms; on any thread.
    ///
    /// This examines all rooms.
    func busiest(_ count: Int) async throws -> (byMembers: [RoomFigures], byPace: [RoomFigures]) {
        try await host.loop.submit { self.machine.busiest(count, at: self.host.time.now()) }.get()
    }

    /// Stops the hub: says goodbye to all clients, and waits until they are gone and the server's publications are stored.
    ///
    /// It waits no longer than the policy allows.
    func stop() async { await host.stop(.stop, within: configuration.policy.drain + .seconds(2)) }

    /// Ends everything that runs; pending requests fail.
    func finish() {
        subscription?.cancel()
        gate.finish()
        logDriver.finish()
        host.finish { core in
            for promise in core.requests.values { promise.fail(HubError.stopped) }
            core.requests = [:]
        }
    }

    /// Publishes in the name of a user.
    ///
    /// - Parameters:
    ///   - program: The API key of the program that publishes; nil: the program that contains the hub.
    ///   - isNamed: Whether `id` is the program's own ID, so that repeated calls within a day are stored once. The publication then gets
    ///     its own device, which is remembered for that time; all other publications of a user share one device.
    func publish(
        to room: RoomName, from user: UserName, _ content: Publication.Content, id: MessageID, program: String? = nil,
        isNamed: Bool = true, sent: Int64 = WallClock.milliseconds
    ) async throws -> HubPublication {
        let publication = Publication(cseq: isNamed ? 1 : 0, id: id, sent: sent, content: content)
        let device = isNamed ? names.device(for: id, of: user, program: program) : ownDevice(of: user)
        switch try await publish(room, device, user, publication) {
        case .stored(let epoch, let ack):
            return HubPublication(position: LogPosition(epoch: epoch, seq: ack.seq), at: ack.at, isDuplicate: ack.isDuplicate)
        case .refused(let refusal): throw PublishingRefusal(refusal: refusal)
        }
    }

    /// A device belongs to one user, so each user gets one device of this hub; it changes when the hub restarts.
    private func ownDevice(of user: UserName) -> DeviceID {
        DeviceID(Bits128(high: ownDevices, low: UInt64(truncatingIfNeeded: user.hashValue)))
    }
}

/// The stored publication of the server itself.
public struct HubPublication: Hashable, Sendable {
    /// The position in the room; the sequence number is 0 if retention has already deleted the entry.
    public var position: LogPosition
    /// The time when it was stored, in milliseconds since 1970 UTC.
    public var at: Int64
    /// Whether it had been stored before.
    public var isDuplicate: Bool
}

/// The reason why the hub did not store a publication of the server itself.
public struct PublishingRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The refusal, which also says whether to try again.
    public var refusal: Refusal

    /// The refusal in words, for people.
    public var description: String { "not stored (\(refusal.code)): \(refusal.text)" }
}

/// Carries ephemeral messages between the nodes of a hub: presence, typing, signals.
///
/// Messages may be lost or late, but the messages of one node arrive in order.
package protocol EphemeralBus: Sendable {
    /// Sends a message to all nodes, including this one; returns at once.
    func publish(_ message: BusMessage)

    /// Calls `handle` with every message from now on, on any thread, until the subscription is cancelled.
    func subscribe(_ handle: @escaping @Sendable (BusMessage) -> Void) -> BusSubscription
}

/// A subscription that can be cancelled.
package struct BusSubscription: Sendable {
    package let cancel: @Sendable () -> Void

    package init(cancel: @escaping @Sendable () -> Void) { self.cancel = cancel }
}

/// A bus between hubs in one process, usually only one hub.
package final class LocalBus: EphemeralBus {
    private let hearers = LockedValue<(last: Int, all: [(number: Int, handle: @Sendable (BusMessage) -> Void)])>((0, []))

    /// Creates a bus without subscribers.
    package init() {}

    package func publish(_ message: BusMessage) {
        for (_, handle) in hearers.withLockedValue({ $0.all }) { handle(message) }
    }

    package func subscribe(_ handle: @escaping @Sendable (BusMessage) -> Void) -> BusSubscription {
        let number = hearers.withLockedValue { hearers in
            hearers.last += 1
            hearers.all.append((hearers.last, handle))
            return hearers.last
        }
        return BusSubscription { [hearers] in hearers.withLockedValue { $0.all.removeAll { $0.number == number } } }
    }
}
