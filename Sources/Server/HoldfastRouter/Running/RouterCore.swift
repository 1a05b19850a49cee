import CodecCore
import Foundation
import HoldfastServer
import MachineCore
import NIOCore
import WAMPCore
import WebSocketCore
import WebSocketRuntime

/// The router on its event loop: tells its machine what happens, and carries out what it orders.
///
/// SAFETY: all is touched on the loop of `host` only, but for what is constant and what says otherwise.
final class RouterCore: HostedServer, @unchecked Sendable {
    typealias Client = RouterLink
    typealias Local = RouterLocal

    let host: MachineHost<RouterCore>
    let configuration: WAMPRouterConfiguration
    /// What it counts, on all event loops.
    let tally = LockedValue(RouterStatus())
    private var journal: RouterJournal
    private let desk: AdmissionDesk
    var machine: RouterMachine
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

    /// Whose input is being carried out.
    private var cause: RouterConnection?
    /// Whose connections have ended in this turn.
    private var gone: [RouterConnection] = []
    private var news = RouterStatus()
    /// Connections by address, where only the router knows it; on any thread.
    let seats: LockedValue<AddressQuota>

    init(_ configuration: WAMPRouterConfiguration, seed: UInt64, time: LinkTime, loops: [any EventLoop]) {
        self.configuration = configuration
        var policy = configuration.policy
        if let present = Timestamp(secondsSince1970: Date().timeIntervalSince1970) { policy.epoch = present }
        machine = RouterMachine(policy: policy, seed: seed)
        journal = RouterJournal(configuration.logger)
        desk = AdmissionDesk(configuration.authenticator, limits: configuration.limits)
        let seats = LockedValue(
            AddressQuota(most: configuration.isBehindProxy ? configuration.server.maximumConnectionsPerAddress : nil))
        let queues = LockedValue(AddressQuota(most: configuration.limits.waitingPerAddress))
        let tally = tally
        self.seats = seats
        // Few inputs of a router may cause much: each may be a publication to thousands.
        host = MachineHost(loops, time: time, fewInputs: 8) {
            RouterLocal(configuration, portCount: min(loops.count, RouterConnection.mostPorts), tally: tally, seats: seats, queues: queues)
        }
        host.serve(self)
    }

    // MARK: - Inputs

    var deadline: Moment? { faults.isIdle ? machine.deadline : .earliest(machine.deadline, faults.deadline) }

    /// What is due is nobody's doing.
    func wake(at now: Moment) {
        machine.wake(at: now, into: &effects)
        performAll(now)
        faults.wake(at: now, into: &faultEffects)
        performFaults(now)
        performAll(now)
    }

    func hear(_ input: RouterInput, at now: Moment) {
        cause = input.connection
        if faults.isIdle { tell(input, now) } else { tellThroughFaults(input, now) }
        performAll(now)
        if case .closed(let connection) = input { gone.append(connection) }
    }

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
            return host.put(.gaveUp(message, of: connection), for: connection)
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

    func carryOut(at now: Moment) {
        cause = nil
        performAll(now)
        // Not before: what came just before the end may have begun an examination.
        for connection in gone {
            desk.forget(connection)
            journal.forget(connection)
        }
        gone.removeAll(keepingCapacity: true)
        tally.withLockedValue { $0.add(news) }
        news = RouterStatus()
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
        host.put(.send(message, to: connection, from: cause), for: connection)
    }

    private func sendToAll(_ message: WAMPMessage, _ members: [RouterConnection]) {
        guard let first = members.first else { return }
        if case .event = message { news.events += members.count }
        journal.sent(message, to: members)
        if members.count == 1 { return host.put(.send(message, to: first, from: cause), for: first) }
        host.putEverywhere(.sendToAll(message, members, from: cause))
    }

    func close(_ connection: RouterConnection, _ closing: RouterClosing) {
        host.put(closing.frame.map { .close(connection, $0) } ?? .abort(connection), for: connection)
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
        case .stopped: host.hasStopped()
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

    // MARK: - The end

    /// Says goodbye to all sessions, and waits for them to answer, though not for longer than the policy allows.
    func stop() async { await host.stop(.stop, within: configuration.policy.goodbyePatience + .seconds(2)) }

    /// Ends what runs, on any thread; nothing is asked any more.
    func finish() {
        host.finish { core in
            for over in core.onOver.values { over.finish() }
            core.onOver = [:]
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
