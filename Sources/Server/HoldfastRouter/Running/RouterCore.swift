import CodecCore
import Foundation
import Holdfast
import HoldfastServer
import MachineCore
import NIOCore
import NIOPosix
import WAMPCore
import WebSocketCore
import WebSocketRuntime

/// Owns the router's machine, on one event loop: tells it what happens, and carries out what it orders.
///
/// SAFETY: all is touched on `loop` only, but for what is constant and what says otherwise.
final class RouterCore: @unchecked Sendable {
    /// One input of a client, and what it costs until the machine has been told and what follows is delivered.
    struct Saying: Sendable {
        let input: RouterInput
        let link: RouterLink
        /// The client's port.
        let port: Int
        let cost: Int
    }

    /// So many inputs of clients are handled before the loop's sockets get their turn, unless that took long before.
    static let mostInTurn = 256
    /// So few need no line.
    private static let fewInputs = 8
    private static let longestTurn = TimeAmount.milliseconds(5)
    /// For how long a turn that is to be continued waits: a loop carries out all tasks that are due before it looks after its sockets.
    private static let pause = TimeAmount.microseconds(50)

    let loop: any EventLoop
    let configuration: WAMPRouterConfiguration
    let time: LinkTime
    let tally = RouterTally()
    private var journal: RouterJournal
    private let desk: AdmissionDesk
    var machine: RouterMachine
    /// What clients said beyond what one turn is for.
    private var backlog = FairQueue<RouterConnection?, Saying>()
    private var isTurnDue = false
    private var effects: [RouterEffect] = []
    /// Spare memory for ``effects``.
    private var performing: [RouterEffect] = []

    var faults = FaultMachine()
    var faultEffects: [FaultMachine.Effect] = []
    /// Who waits for a fault to be over.
    var onOver: [UInt64: AsyncStream<Never>.Continuation] = [:]
    let lastFault = LockedValue<UInt64>(0)

    var sessions: [RouterConnection: RouterSession] = [:]
    private var connections: [WAMPID: RouterConnection] = [:]

    /// These two are constant once this is made, until it is finished.
    private var ports: [RouterPort] = []
    private var portsByLoop: [ObjectIdentifier: RouterPort] = [:]
    private var parcels: [[RouterPort.Parcel]] = []
    /// The same ports for any thread.
    private let directory = LockedValue<[RouterPort]>([])
    /// Whose input is being carried out.
    private var cause: RouterConnection?
    private var news = RouterStatus()
    private var alarm: (at: Moment, task: Task<Void, Never>)?
    private let isStoppingBox = LockedValue(false)
    private let stopped = LinkOutcome<Void>()
    /// Connections by address, where only the router knows it; on any thread.
    let seats: LockedValue<AddressQuota>
    /// Bytes that wait for clients, by address; on any thread.
    let queues: LockedValue<AddressQuota>
    /// On how many event loops there are clients; on any thread.
    let portCount: Int

    init(_ configuration: WAMPRouterConfiguration, seed: UInt64, time: LinkTime, loops: [any EventLoop]) {
        (self.configuration, self.time, loop) = (configuration, time, loops[0])
        var policy = configuration.policy
        if let present = Timestamp(secondsSince1970: Date().timeIntervalSince1970) { policy.epoch = present }
        machine = RouterMachine(policy: policy, seed: seed)
        journal = RouterJournal(configuration.logger)
        desk = AdmissionDesk(configuration.authenticator, limits: configuration.limits)
        seats = LockedValue(AddressQuota(most: configuration.isBehindProxy ? configuration.server.maximumConnectionsPerAddress : nil))
        queues = LockedValue(AddressQuota(most: configuration.limits.waitingPerAddress))
        portCount = min(loops.count, RouterConnection.mostPorts)
        ports = loops.prefix(RouterConnection.mostPorts).enumerated().map { RouterPort($1, number: $0, core: self) }
        parcels = ports.map { _ in [] }
        portsByLoop = Dictionary(uniqueKeysWithValues: ports.map { (ObjectIdentifier($0.loop), $0) })
        directory.withLockedValue { $0 = ports }
    }

    /// Whether nobody new is taken any more; on any thread.
    var isStopping: Bool { isStoppingBox.withLockedValue(\.self) }

    /// The port of the present event loop.
    func portHere() -> RouterPort {
        guard let loop = MultiThreadedEventLoopGroup.currentEventLoop, let port = portsByLoop[ObjectIdentifier(loop)] else {
            preconditionFailure("the server's connections are on the event loops that the router was given")
        }
        return port
    }

    /// The port of the machine's own event loop; on any thread.
    var ownPort: RouterPort { ports[0] }

    // MARK: - Inputs

    /// Tells the machine what has happened, in order, and starts what it orders.
    func take(_ inputs: [RouterInput]) {
        let now = begin()
        for input in inputs { hear(input, now) }
        end(now, inputs)
    }

    /// Tells the machine what clients have said; what is too much for a turn waits for the next ones, and clients take turns.
    ///
    /// What they owe is settled when all that follows from it is with the clients' connections, or waits for them within their bounds.
    func take(_ sayings: [Saying]) {
        guard !backlog.isEmpty || sayings.count > Self.fewInputs else {
            let now = begin()
            for saying in sayings { hear(saying.input, now) }
            return end(now, sayings.map(\.input), sayings)
        }
        for saying in sayings { backlog.add(saying, of: saying.input.connection) }
        if !isTurnDue { takeTurn() }
    }

    private func takeTurn() {
        let (now, latest) = (begin(), NIODeadline.now() + Self.longestTurn)
        var heard: [Saying] = []
        repeat {
            for saying in backlog.next() {
                hear(saying.input, now)
                heard.append(saying)
            }
        } while !backlog.isEmpty && heard.count < Self.mostInTurn && .now() < latest
        isTurnDue = !backlog.isEmpty
        if isTurnDue { loop.assumeIsolated().scheduleTask(in: Self.pause) { self.takeTurn() } }
        end(now, heard.map(\.input), heard)
    }

    private func begin() -> Moment {
        let now = time.now()
        // What is due is nobody's doing.
        machine.wake(at: now, into: &effects)
        performAll(now)
        return now
    }

    private func hear(_ input: RouterInput, _ now: Moment) {
        cause = input.connection
        if faults.isIdle { tell(input, now) } else { tellThroughFaults(input, now) }
        performAll(now)
    }

    private func end(_ now: Moment, _ inputs: [RouterInput], _ sayings: [Saying] = []) {
        cause = nil
        var owed: [Int: [Debt.Item]] = [:]
        for saying in sayings where saying.cost > 0 { owed[saying.port, default: []].append((saying.link, saying.cost)) }
        carryOut(now, owed.compactMap { $0 < ports.count ? Debt($1, of: ports[$0]) : nil })
        // Not before: what came just before the end may have begun an examination.
        for case .closed(let connection) in inputs { desk.forget(connection) }
    }

    /// The same from any thread.
    func submit(_ inputs: [RouterInput]) { loop.execute { self.take(inputs) } }

    func tell(_ input: RouterInput, _ now: Moment) {
        switch input {
        case .received(let connection, let message):
            news.messagesIn += 1
            journal.received(message, from: connection)
            return machine.handle(permitted(message, of: connection), at: now, into: &effects)
        case .opened(let connection, _, let address): desk.note(connection, address)
        case .closed(let connection): forget(connection)
        case .undelivered(let connection, let message, _):
            machine.handle(input, at: now, into: &effects)
            performAll(now)
            // What is sent from now on is of other calls.
            return put(.gaveUp(message, of: connection), for: connection)
        default: break
        }
        machine.handle(input, at: now, into: &effects)
    }

    /// A request comes once more, or after its turn, for a fault wants it so.
    func tellAgain(_ message: WAMPMessage, of connection: RouterConnection, _ now: Moment) {
        news.messagesIn += 1
        journal.received(message, from: connection)
        machine.handleAgain(permitted(message, of: connection), at: now, into: &effects)
    }

    /// A request does not come, for a fault wants it so.
    func tellLost(_ message: WAMPMessage, of connection: RouterConnection, _ now: Moment) {
        machine.miss(message, of: connection, at: now, into: &effects)
    }

    /// A request, as whoever runs the router allows it.
    private func permitted(_ message: WAMPMessage, of connection: RouterConnection) -> RouterInput {
        switch message {
        case .call: news.calls += 1
        case .publish: news.publications += 1
        default: break
        }
        guard let ask = configuration.authorization, let (action, uri, match) = message.request, let session = sessions[connection] else {
            return .received(connection, message)
        }
        let permission = ask(session, action, uri, match)
        if let refusal = permission.refusal { return .forbidden(connection, message, reason: refusal) }
        let permitted = permission.discloses.map { message.disclosing($0) } ?? message
        // Who reads what a subscription brought might as well have subscribed.
        if let id = permitted.historyID, let (topic, match) = machine.topic(ofSubscription: id, in: session.realm),
            let refusal = ask(session, .subscribe, topic, match).refusal
        {
            return .forbidden(connection, message, reason: refusal)
        }
        // One that is too long is refused by the machine: whoever allows topics compares none that takes long.
        guard let topic = permitted.testamentTopic, topic.utf8.count <= configuration.policy.maximumURI else {
            return .received(connection, permitted)
        }
        // A testament is a publication, only later.
        let publishing = ask(session, .publish, topic, .exact)
        if let refusal = publishing.refusal { return .forbidden(connection, message, reason: refusal) }
        return .received(connection, publishing.discloses.map { permitted.disclosingTestament($0) } ?? permitted)
    }

    // MARK: - Effects

    func carryOut(_ now: Moment, _ debts: [Debt] = []) {
        performAll(now)
        tally.add { $0.add(news) }
        news = RouterStatus()
        post(debts)
        setAlarm()
    }

    private func performAll(_ now: Moment) {
        while !effects.isEmpty {
            swap(&effects, &performing)
            for effect in performing { perform(effect, now) }
            performing.removeAll(keepingCapacity: true)
        }
    }

    private func perform(_ effect: RouterEffect, _ now: Moment) {
        switch effect {
        case .send(let message, let connection):
            if case .welcome(let session, let details) = message { welcome(session, details, connection) }
            guard faults.isIdle else { return pass(.message(message), connection, isFromClient: false, now) }
            send(message, to: connection)
        case .sendToAll(let message, let members):
            guard faults.isIdle else {
                for member in members { pass(.message(message), member, isFromClient: false, now) }
                return
            }
            sendToAll(message, members)
        case .examine(let connection, let credentials): desk.examine(connection, credentials, for: self)
        case .close(let connection, let closing):
            guard faults.isIdle else { return pass(.close(closing), connection, isFromClient: false, now) }
            close(connection, closing)
        case .news(let item): hear(item)
        }
    }

    func send(_ message: WAMPMessage, to connection: RouterConnection) {
        if case .event = message { news.events += 1 }
        journal.sent(message, to: connection)
        put(.send(message, to: connection, from: cause), for: connection)
    }

    private func sendToAll(_ message: WAMPMessage, _ members: [RouterConnection]) {
        guard let first = members.first else { return }
        if case .event = message { news.events += members.count }
        journal.sent(message, to: members)
        if members.count == 1 { return put(.send(message, to: first, from: cause), for: first) }
        for port in ports { parcels[port.number].append(.sendToAll(message, members, from: cause)) }
    }

    func close(_ connection: RouterConnection, _ closing: RouterClosing) {
        put(closing.frame.map { .close(connection, $0) } ?? .abort(connection), for: connection)
    }

    func put(_ parcel: RouterPort.Parcel, for connection: RouterConnection) {
        // There are no ports any more once the router is gone.
        if connection.port < parcels.count { parcels[connection.port].append(parcel) }
    }

    /// Reads nothing more of a client, or goes on, because of another one; from any thread.
    func hold(_ connection: RouterConnection, _ isHeld: Bool) {
        directory.withLockedValue { $0.indices.contains(connection.port) ? $0[connection.port] : nil }?.hold(connection, isHeld)
    }

    /// One hop for each event loop and burst.
    private func post(_ debts: [Debt]) {
        let busy = ports.filter { !parcels[$0.number].isEmpty }
        for debt in debts { debt.await(busy.count) }
        for port in busy {
            let load = parcels[port.number]
            parcels[port.number] = []
            // Even on the own loop not before this turn ends: delivering may bring new inputs.
            port.loop.execute {
                port.deliver(load)
                for debt in debts { debt.delivered() }
            }
        }
    }

    private func hear(_ item: RouterNews) {
        switch item {
        case .joined:
            news.joined += 1
            news.sessions += 1
        case .left(let session, _, _):
            news.sessions -= 1
            if let connection = connections[session] { forget(connection) }
        case .refused: news.refused += 1
        case .violation: news.violations += 1
        case .overrun: news.overruns += 1
        case .stopped: stopped.settle(())
        }
        journal.note(item)
    }

    // MARK: - Sessions

    private func welcome(_ session: WAMPID, _ details: ValueMap, _ connection: RouterConnection) {
        forget(connection)
        sessions[connection] = RouterSession(
            id: session, realm: details["realm"]?.string ?? "", authID: details["authid"]?.string ?? "",
            authRole: details["authrole"]?.string ?? "")
        connections[session] = connection
    }

    private func forget(_ connection: RouterConnection) {
        if let session = sessions.removeValue(forKey: connection) { connections[session.id] = nil }
    }

    // MARK: - Time

    private func setAlarm() {
        let next = faults.isIdle ? machine.deadline : .earliest(machine.deadline, faults.deadline)
        guard let deadline = next else { return }
        if let alarm {
            guard deadline < alarm.at else { return }
            alarm.task.cancel()
        }
        let (time, loop) = (time, loop)
        // SAFETY: ends at that moment, or when another takes its place or the router is gone.
        let task = Task { [weak self] in
            guard (try? await time.sleep(deadline)) != nil else { return }
            loop.execute { [weak self] in self?.alarmRang(deadline) }
        }
        alarm = (deadline, task)
    }

    private func alarmRang(_ deadline: Moment) {
        guard alarm?.at == deadline else { return }
        alarm = nil
        let now = time.now()
        machine.wake(at: now, into: &effects)
        faults.wake(at: now, into: &faultEffects)
        performFaults(now)
        carryOut(now)
    }

    // MARK: - The end

    /// Says goodbye to all sessions, and waits for them to answer, though not for longer than the policy allows.
    func stop() async {
        let isFirst = isStoppingBox.withLockedValue { isStopping in
            defer { isStopping = true }
            return !isStopping
        }
        if isFirst {
            loop.execute {
                self.take([.stop])
                let patience = self.configuration.policy.goodbyePatience + .seconds(2)
                self.loop.assumeIsolated().scheduleTask(in: .nanoseconds(patience.wholeNanoseconds)) { self.stopped.settle(()) }
            }
        }
        await stopped.wait()
    }

    /// Ends what runs, on any thread; nothing is asked any more.
    func finish() {
        loop.execute {
            self.alarm?.task.cancel()
            for over in self.onOver.values { over.finish() }
            self.onOver = [:]
            // They hold each other.
            (self.ports, self.portsByLoop, self.parcels) = ([], [:], [])
            self.directory.withLockedValue { $0 = [] }
        }
    }
}

extension RouterClosing {
    /// How the WebSocket says it; nil: not at all.
    var frame: CloseFrame? {
        switch self {
        case .cut: nil
        case .goodbye: CloseFrame(.normal)
        case .violation: CloseFrame(.protocolError, reason: "the rules of WAMP were broken")
        case .overrun: CloseFrame(.tryAgainLater, reason: "too slow")
        case .stopping: CloseFrame(.goingAway, reason: "the router stops")
        case .failure: CloseFrame(.internalError, reason: "the router failed")
        }
    }
}
