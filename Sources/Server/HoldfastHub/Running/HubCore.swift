import Holdfast
import HoldfastServer
import Logging
import MachineCore
import WebSocketRuntime
import NIOCore
import NIOPosix
import RoomCore

/// Owns the hub's machine, on one event loop: tells it what happens, and carries out what it orders.
///
/// SAFETY: all is touched on `loop` only, but for what is constant and what says otherwise.
final class HubCore: @unchecked Sendable {
    /// One input of a client, and what it costs until the machine has been told.
    struct Saying: Sendable {
        var input: HubInput
        var id: ConnectionID
        var cost = 0
    }

    /// What may wait of what other nodes tell; more is lost.
    private static let mostHeard = 10_000
    /// Requests of the server's own that may wait.
    private static let mostRequests = 1000
    /// So many inputs of clients are handled before the loop's sockets get their turn, unless that took long before.
    static let mostInTurn = 256
    /// So few need no line.
    private static let fewInputs = 32
    private static let longestTurn = TimeAmount.milliseconds(5)
    /// For how long a turn that is to be continued waits.
    ///
    /// A loop carries out all tasks that are due before it looks after its sockets.
    private static let pause = TimeAmount.microseconds(50)

    let loop: any EventLoop
    let configuration: HubConfiguration
    let gauges = HubGauges()
    /// What the devices under which this hub publishes begin with.
    let ownDevices = UInt64.random(in: 0 ... .max)
    /// Under which devices it stores what has a name of its own.
    let names: PublicationNames
    let gate: TokenGate
    let desk: LogDesk
    private(set) var machine: HubMachine
    /// These two are constant once this is made.
    private var ports: [HubPort] = []
    private var portsByLoop: [ObjectIdentifier: HubPort] = [:]
    private var parcels: [[HubPort.Parcel]] = []
    private var effects: [HubEffect] = []
    /// Spare memory for ``effects``.
    private var performing: [HubEffect] = []
    private let bus: any EphemeralBus
    private var subscription: BusSubscription?
    /// What nodes have told and the machine has not heard.
    private let heard = LockedValue<[BusMessage]>([])
    private var requests: [UInt64: EventLoopPromise<ServerAnswer>] = [:]
    private var lastRequest: UInt64 = 0
    private var alarm: (at: Moment, task: Scheduled<Void>)?
    private let origin = NIODeadline.now()
    private var isCarryingOut = false
    /// What clients said beyond what one turn is for.
    private var backlog = FairQueue<ConnectionID, Saying>()
    private var isTurnDue = false
    private let isStoppingBox = LockedValue(false)
    private var onEmpty: EventLoopPromise<Void>?

    init(
        _ configuration: HubConfiguration, machine: HubMachine, log: any RoomLog, bus: any EphemeralBus, authority: any HubAuthority,
        loops: [any EventLoop], names: PublicationNames = .drawn()
    ) {
        (self.configuration, self.machine, self.bus, self.names, loop) = (configuration, machine, bus, names, loops[0])
        gate = TokenGate(authority)
        desk = LogDesk(log, loop: loop, gauges: gauges)
        ports = loops.prefix(ConnectionID.mostPorts).enumerated().map { HubPort($1, number: $0, core: self) }
        parcels = ports.map { _ in [] }
        portsByLoop = Dictionary(uniqueKeysWithValues: ports.map { (ObjectIdentifier($0.loop), $0) })
    }

    /// Whether nothing new is taken any more; on any thread.
    var isStopping: Bool { isStoppingBox.withLockedValue(\.self) }

    /// Who serves a client on the present event loop.
    func visitor(_ caller: Caller) -> Visitor {
        guard let loop = MultiThreadedEventLoopGroup.currentEventLoop, let port = portsByLoop[ObjectIdentifier(loop)] else {
            preconditionFailure("the server's connections are on the event loops that the hub was given")
        }
        return Visitor(caller, at: port)
    }

    // MARK: - Inputs

    /// Tells the machine what has happened, in order, and starts what it orders.
    func take(_ inputs: [HubInput]) {
        let now = now
        for input in inputs { machine.handle(input, at: now, into: &effects) }
        carryOut()
    }

    /// Tells the machine what clients have said, and their ports that it was looked at; what is too much for a turn waits for the next ones.
    ///
    /// So probes, other clients and what the log answers do not wait for all of it.
    func take(_ sayings: [Saying]) {
        guard !backlog.isEmpty || sayings.count > Self.fewInputs else {
            let now = now
            for saying in sayings { machine.handle(saying.input, at: now, into: &effects) }
            carryOut()
            return settle(sayings)
        }
        for saying in sayings { backlog.add(saying, of: saying.id) }
        if !isTurnDue { takeTurn() }
    }

    private func takeTurn() {
        let (now, end) = (now, NIODeadline.now() + Self.longestTurn)
        var heard: [Saying] = []
        repeat {
            let batch = backlog.next()
            for saying in batch { machine.handle(saying.input, at: now, into: &effects) }
            heard += batch
        } while !backlog.isEmpty && heard.count < Self.mostInTurn && .now() < end
        isTurnDue = !backlog.isEmpty
        if isTurnDue { loop.assumeIsolated().scheduleTask(in: Self.pause) { self.takeTurn() } }
        carryOut()
        settle(heard)
    }

    /// Tells the clients' event loops what was looked at, so that more is read of those who wait.
    private func settle(_ sayings: [Saying]) {
        var owed: [Int: [(id: ConnectionID, cost: Int)]] = [:]
        for saying in sayings where saying.cost > 0 { owed[saying.id.port, default: []].append((saying.id, saying.cost)) }
        for (number, owed) in owed where number < ports.count { ports[number].settle(owed) }
    }

    /// The same from any thread.
    func submit(_ inputs: [HubInput]) { loop.execute { self.take(inputs) } }

    private var now: Moment { Moment(.nanoseconds((.now() - origin).nanoseconds)) }

    /// Begins: the calendar is what the machine hears first.
    func start() {
        subscription = bus.subscribe { [weak self] in self?.hear($0) }
        loop.execute { self.take([.calendar(HubCalendar.now)]) }
    }

    /// What a node tells, on any thread; the machine hears it with the next turn.
    private func hear(_ message: BusMessage) {
        let isFirst = heard.withLockedValue { heard in
            guard heard.count < Self.mostHeard else { return false }
            heard.append(message)
            return heard.count == 1
        }
        guard isFirst else { return }
        // Our own are heard at the end of the turn that tells them.
        if loop.inEventLoop, isCarryingOut { return }
        loop.execute { self.carryOut() }
    }

    // MARK: - Effects

    private func carryOut() {
        guard !isCarryingOut else { return }
        isCarryingOut = true
        let at = NIODeadline.now()
        repeat {
            swap(&effects, &performing)
            for effect in performing { perform(effect) }
            performing.removeAll(keepingCapacity: true)
            let messages = heard.withLockedValue { heard in
                defer { heard = [] }
                return heard
            }
            let now = now
            for message in messages { machine.handle(.heard(message), at: now, into: &effects) }
        } while !effects.isEmpty
        isCarryingOut = false
        desk.flush()
        post(at)
        setAlarm()
        if onEmpty != nil, requests.isEmpty, gauges.connections == 0 { onEmpty.take()?.succeed() }
    }

    private func perform(_ effect: HubEffect) {
        switch effect {
        case .send(let frame, let id): parcels[id.port].append(.send(frame, to: id))
        case .fanOut(let frame, let members):
            guard !members.isEmpty else { return }
            let shared = SharedFrame(frame, for: gauges.encodings)
            if members.count == 1 {
                parcels[members[0].port].append(.fanOut(shared, to: members))
            } else {
                for port in ports { parcels[port.number].append(.fanOut(shared, to: members)) }
            }
        case .close(let id, let code, let reason): parcels[id.port].append(.close(id, code: code, reason: reason))
        case .authenticate(let id, let token): parcels[id.port].append(.authenticate(id, token: token))
        case .log(let order): desk.order(order)
        case .tell(let message): bus.publish(message)
        case .rewound(let place, let room):
            configuration.logger.error(
                "the log of a room went back: it gets a new epoch, and clients get snapshots",
                metadata: ["room": "\(room)", "head": "\(place)"])
        case .answer(let request, let answer): requests.removeValue(forKey: request.number)?.succeed(answer)
        }
    }

    /// One hop for each event loop and burst.
    private func post(_ at: NIODeadline) {
        for port in ports where !parcels[port.number].isEmpty {
            let load = parcels[port.number]
            parcels[port.number] = []
            // Even on the own loop not before this turn ends: delivering may bring new inputs.
            port.loop.execute { port.deliver(load, sentAt: at) }
        }
    }

    private func setAlarm() {
        guard let deadline = machine.deadline else { return }
        if let alarm {
            guard deadline < alarm.at else { return }
            alarm.task.cancel()
        }
        let at = origin + .nanoseconds(deadline.offset.wholeNanoseconds)
        let task = loop.assumeIsolated().scheduleTask(deadline: at) { self.alarmRang() }
        alarm = (deadline, task)
    }

    private func alarmRang() {
        alarm = nil
        machine.wake(at: now, into: &effects)
        carryOut()
    }

    // MARK: - Errands

    /// Has a token looked at.
    func authenticate(_ id: ConnectionID, token: String?, isLocal: Bool) {
        gate.ask(TokenGate.Question(connection: id, token: token, isLocal: isLocal))
    }

    /// Publishes in the name of the server; on any thread.
    func publish(_ room: RoomName, _ device: DeviceID, _ user: UserName, _ publication: Publication) async throws -> ServerAnswer {
        let promise = loop.makePromise(of: ServerAnswer.self)
        loop.execute {
            guard self.requests.count < Self.mostRequests, !self.isStopping else { return promise.fail(HubError.stopped) }
            self.lastRequest += 1
            self.requests[self.lastRequest] = promise
            self.take([.publish(ServerRequest(self.lastRequest), room, device, user, publication)])
        }
        return try await promise.futureResult.get()
    }

    /// What the machine has counted; on any thread.
    func figures() async throws -> HubFigures { try await loop.submit { self.machine.figures }.get() }

    /// The rooms in which most happens; on any thread.
    ///
    /// It takes a look at all rooms.
    func busiest(_ count: Int) async throws -> (byMembers: [RoomFigures], byPace: [RoomFigures]) {
        try await loop.submit { self.machine.busiest(count, at: self.now) }.get()
    }

    /// Says goodbye to all clients, and waits for them to go and for what the server itself publishes to be stored, though not for longer
    /// than the policy allows.
    func stop() async {
        isStoppingBox.withLockedValue { $0 = true }
        let promise = loop.makePromise(of: Void.self)
        loop.execute {
            self.onEmpty = promise
            self.take([.stop])
            let patience = self.configuration.policy.drain + .seconds(2)
            self.loop.assumeIsolated().scheduleTask(in: .nanoseconds(patience.wholeNanoseconds)) { self.onEmpty.take()?.succeed() }
        }
        try? await promise.futureResult.get()
    }

    /// Ends what runs; nothing is asked any more.
    func finish() {
        subscription?.cancel()
        gate.finish()
        desk.finish()
        loop.execute {
            self.alarm?.task.cancel()
            for promise in self.requests.values { promise.fail(HubError.stopped) }
            self.requests = [:]
            // They hold each other.
            (self.ports, self.portsByLoop) = ([], [:])
        }
    }
}
