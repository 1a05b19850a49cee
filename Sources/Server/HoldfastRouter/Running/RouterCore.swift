import CodecCore
import Foundation
import HoldfastServer
import MachineCore
import NIOCore
import WAMPCore
import WebSocketCore
import WebSocketRuntime

/// The router on its event loop: passes inputs to its machine, and carries out its effects.
///
/// SAFETY: Everything is accessed on the loop of `host` only, except constants and members that say otherwise.
final class RouterCore: HostedServer, @unchecked Sendable {
    typealias Client = RouterLink
    typealias Local = RouterLocal

    let host: MachineHost<RouterCore>
    let configuration: WAMPRouterConfiguration
    /// The counts of all event loops.
    let tally = LockedValue(RouterStatus())
    private var journal: RouterJournal
    private let admission: AdmissionDriver
    var machine: RouterMachine
    private var effects: [RouterEffect] = []
    /// Spare memory for ``effects``.
    private var performing: [RouterEffect] = []

    var faults = FaultMachine()
    var faultEffects: [FaultMachine.Effect] = []
    /// Streams to finish when a fault is over.
    var onOver: [UInt64: AsyncStream<Never>.Continuation] = [:]
    let lastFault = LockedValue<UInt64>(0)

    var sessions: [RouterConnection: RouterSession] = [:]
    private var connections: [WAMPID: RouterConnection] = [:]

    /// The client whose input is being handled.
    private var cause: RouterConnection?
    /// The connections that have ended in this turn.
    private var gone: [RouterConnection] = []
    private var news = RouterStatus()
    /// The number of connections by address, where only the router knows the addresses; on any thread.
    let slots: LockedValue<AddressQuota>

    init(_ configuration: WAMPRouterConfiguration, seed: UInt64, time: LinkTime, loops: [any EventLoop]) {
        self.configuration = configuration
        var policy = configuration.policy
        if let present = Timestamp(secondsSince1970: Date().timeIntervalSince1970) { policy.epoch = present }
        machine = RouterMachine(policy: policy, seed: seed)
        journal = RouterJournal(configuration.logger)
        admission = AdmissionDriver(configuration.authenticator, limits: configuration.limits)
        let slots = LockedValue(
            AddressQuota(most: configuration.isBehindProxy ? configuration.server.maximumConnectionsPerAddress : nil))
        let queues = LockedValue(AddressQuota(most: configuration.limits.waitingPerAddress))
        let tally = tally
        self.slots = slots
        // A few inputs of a router may cause much work: each may be a publication to thousands.
        host = MachineHost(loops, time: time, fewInputs: 8) {
            RouterLocal(configuration, portCount: min(loops.count, RouterConnection.mostPorts), tally: tally, slots: slots, queues: queues)
        }
        host.serve(self)
    }

    // MARK: - Inputs

    var deadline: Moment? { faults.isIdle ? machine.deadline : .earliest(machine.deadline, faults.deadline) }

    /// Handles due work, which no client caused.
    func wake(at now: Moment) {
        machine.wake(at: now, into: &effects)
        performAll(now)
        faults.wake(at: now, into: &faultEffects)
        performFaults(now)
        performAll(now)
    }

    func handle(_ input: RouterInput, at now: Moment) {
        cause = input.connection
        if faults.isIdle { notify(input, now) } else { notifyThroughFaults(input, now) }
        performAll(now)
        if case .closed(let connection) = input { gone.append(connection) }
    }

    func notify(_ input: RouterInput, _ now: Moment) {
        switch input {
        case .received(let connection, let message):
            news.messagesIn += 1
            journal.received(message, from: connection)
            return machine.handle(permitted(message, of: connection), at: now, into: &effects)
        case .opened(let connection, _, let address): admission.note(connection, address)
        case .closed(let connection): forget(connection)
        case .undelivered(let connection, let message, _):
            machine.handle(input, at: now, into: &effects)
            performAll(now)
            // Later messages belong to other calls.
            return host.put(.gaveUp(message, of: connection), for: connection)
        default: break
        }
        machine.handle(input, at: now, into: &effects)
    }

    /// Passes a request once more, or out of order, because a fault demands it.
    func notifyAgain(_ message: WAMPMessage, of connection: RouterConnection, _ now: Moment) {
        news.messagesIn += 1
        journal.received(message, from: connection)
        machine.handleAgain(permitted(message, of: connection), at: now, into: &effects)
    }

    /// Skips a request because a fault demands it.
    func notifyLost(_ message: WAMPMessage, of connection: RouterConnection, _ now: Moment) {
        machine.miss(message, of: connection, at: now, into: &effects)
    }

    /// Returns a request as the authorization allows it.
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
        // Reading the events of a subscription requires the permission to subscribe.
        if let id = permitted.historyID, let (topic, match) = machine.topic(ofSubscription: id, in: session.realm),
            let refusal = ask(session, .subscribe, topic, match).refusal
        {
            return .forbidden(connection, message, reason: refusal)
        }
        // The machine rejects a topic that is too long, so the authorization never compares long texts.
        guard let topic = permitted.testamentTopic, topic.utf8.count <= configuration.policy.maximumURI else {
            return .received(connection, permitted)
        }
        // A testament is a deferred publication.
        let publishing = ask(session, .publish, topic, .exact)
        if let refusal = publishing.refusal { return .forbidden(connection, message, reason: refusal) }
        return .received(connection, publishing.discloses.map { permitted.disclosingTestament($0) } ?? permitted)
    }

    // MARK: - Effects

    func carryOut(at now: Moment) {
        cause = nil
        performAll(now)
        // Only now, because messages just before the end may have started an examination.
        for connection in gone {
            admission.forget(connection)
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
        case .examine(let connection, let credentials): admission.examine(connection, credentials, for: self)
        case .close(let connection, let closing):
            guard faults.isIdle else { return pass(.close(closing), connection, isFromClient: false, now) }
            close(connection, closing)
        case .news(let item): handle(item)
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

    private func handle(_ item: RouterNews) {
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

    /// Says goodbye to all sessions, and waits for their answers, but not longer than the policy allows.
    func stop() async { await host.stop(.stop, within: configuration.policy.goodbyePatience + .seconds(2)) }

    /// Ends the router, on any thread.
    ///
    /// The machine gets no more inputs.
    func finish() {
        host.finish { core in
            for over in core.onOver.values { over.finish() }
            core.onOver = [:]
        }
    }
}

extension RouterClosing {
    /// The close frame; nil to cut the connection without one.
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
