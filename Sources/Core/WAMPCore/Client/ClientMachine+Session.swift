package import CodecCore
internal import MachineCore
internal import ProtocolCore

extension ClientMachine {
    mutating func open(authExtra: ValueMap, at now: Moment, into effects: inout [ClientEffect]) {
        if let ending { return notify(ending, into: &effects) }
        if phase != .apart { lose(unsent: [], at: now, into: &effects) }
        guard phase != .over else { return }
        phase = .greeted
        (method, candidate, router, numbers) = (nil, nil, RouterTraits(), RequestNumbers())
        alarms.set(.join, at: now + policy.joinPatience)
        effects.append(.send(.hello(realm: policy.realm, details: policy.hello(authExtra: authExtra))))
    }

    // MARK: Authentication

    mutating func challenge(method: String, extra: ValueMap, at now: Moment, into effects: inout [ClientEffect]) {
        // A router that asks for a ticket where the client offered a signature might try to steal the ticket.
        guard policy.authMethods.contains(method) else {
            return violate("CHALLENGE by a method that was not offered", at: now, into: &effects)
        }
        // Each answer allows one more guess at the password, and with several methods it reveals one more secret.
        guard self.method == nil else { return violate("a second CHALLENGE", at: now, into: &effects) }
        let handle = newHandle()
        (phase, self.method) = (.proving(handle), method)
        effects.append(.event(.challenged(handle, method: method, extra: extra)))
    }

    mutating func prove(_ handle: ClientHandle, signature: String, extra: ValueMap, into effects: inout [ClientEffect]) {
        guard phase == .proving(handle) else { return }
        phase = .greeted
        effects.append(.send(.authenticate(signature: signature, extra: extra)))
    }

    mutating func disprove(
        _ handle: ClientHandle, reason: String, isHopeless: Bool, at now: Moment, into effects: inout [ClientEffect]
    ) {
        guard phase == .proving(handle) else { return }
        // The reason is meant for the app; the router does not need to know it.
        abort(WAMPURI.Error.authenticationFailed, "no proof", into: &effects)
        drop(.unproven(reason, isRetryable: !isHopeless), at: now, into: &effects)
    }

    mutating func welcome(_ session: WAMPID, details: ValueMap, at now: Moment, into effects: inout [ClientEffect]) {
        router = RouterTraits(welcome: details)
        let joined = JoinedSession(
            id: session, realm: details["realm"]?.string ?? policy.realm, authID: details["authid"]?.string,
            authRole: details["authrole"]?.string, authMethod: details["authmethod"]?.string, brokerFeatures: router.broker,
            dealerFeatures: router.dealer, details: details)
        if let method, Self.isMutual(method) {
            let handle = newHandle()
            (phase, candidate) = (.checking(handle), joined)
            effects.append(.event(.welcomed(handle, details: details)))
        } else if method == nil, !policy.authMethods.isEmpty, policy.authMethods.allSatisfy(Self.isMutual) {
            // If all methods are mutual, a router that asks for nothing has not proven its identity.
            abort(WAMPURI.Error.authenticationFailed, "the router did not prove its identity", into: &effects)
            drop(.untrustedServer, at: now, into: &effects)
        } else {
            join(joined, at: now, into: &effects)
        }
    }

    mutating func check(_ handle: ClientHandle, isGenuine: Bool, at now: Moment, into effects: inout [ClientEffect]) {
        guard phase == .checking(handle), let candidate else { return }
        if isGenuine { return join(candidate, at: now, into: &effects) }
        abort(WAMPURI.Error.authenticationFailed, "the router's proof is wrong", into: &effects)
        drop(.untrustedServer, at: now, into: &effects)
    }

    private static func isMutual(_ method: String) -> Bool { method == "scram" || method == "wamp-scram" }

    // MARK: Joined

    private mutating func join(_ session: JoinedSession, at now: Moment, into effects: inout [ClientEffect]) {
        (phase, candidate) = (.joined, nil)
        effects.append(.ready)
        alarms.cancel(.join)
        effects.append(.event(.joined(session)))
        for number in topics.inOrder { settle(topic: number, at: now, into: &effects) }
        for number in procedures.inOrder { settle(procedure: number, at: now, into: &effects) }
        sendLine(at: now, into: &effects)
        sendTestaments(at: now, into: &effects)
    }

    // MARK: Ends

    mutating func dismiss(
        reason: String, details: ValueMap, isEcho: Bool, at now: Moment, into effects: inout [ClientEffect]
    ) {
        if phase == .leaving { return drop(.left, at: now, into: &effects) }
        if isEcho { effects.append(.send(.goodbye(details: ValueMap(), reason: WAMPURI.Close.goodbyeAndOut, .none))) }
        let isRetryable = WAMPURI.isWorthAnotherTry(afterEndingFor: reason)
        drop(.dismissed(reason: reason, message: details["message"]?.string, isRetryable: isRetryable), at: now, into: &effects)
    }

    /// Handles a protocol violation by the router: sends an ABORT and ends the session.
    ///
    /// Source: WAMP, "Protocol Violations".
    mutating func violate(_ description: String, at now: Moment, into effects: inout [ClientEffect]) {
        abort(WAMPURI.Error.protocolViolation, description, into: &effects)
        drop(.violation(description), at: now, into: &effects)
    }

    func abort(_ reason: String, _ message: String, into effects: inout [ClientEffect]) {
        effects.append(.send(.abort(details: ["message": .text(message)], reason: reason, .none)))
    }

    mutating func leave(reason: String, at now: Moment, into effects: inout [ClientEffect]) {
        switch phase {
        case .leaving, .over: return
        case .joined:
            effects.append(.send(.goodbye(details: ValueMap(), reason: reason, .none)))
            phase = .leaving
            part(.ended, at: now, into: &effects)
            endEverything(into: &effects)
            alarms.set(.goodbye, at: now + policy.goodbyePatience)
        case .greeted, .proving, .checking:
            abort(WAMPURI.Close.closeRealm, "the client leaves", into: &effects)
            drop(.left, at: now, into: &effects)
        case .apart, .dropping: drop(.left, at: now, into: &effects)
        }
    }

    /// Ends the connection and the session; if a new connection cannot help, ends everything.
    mutating func drop(_ ending: ClientEnding, at now: Moment, into effects: inout [ClientEffect]) {
        let wasJoined = phase == .joined
        phase = ending.isFinal ? .over : .dropping
        alarms.cancel(.join)
        alarms.cancel(.goodbye)
        if wasJoined { effects.append(.event(.parted)) }
        notify(ending, into: &effects)
        if ending.isFinal { self.ending = ending }
        endSession(ending.isFinal ? .ended : .connectionLost(wasSent: true), at: now, into: &effects)
        if ending.isFinal { endEverything(into: &effects) }
    }

    private func notify(_ ending: ClientEnding, into effects: inout [ClientEffect]) {
        effects.append(.event(.ended(ending)))
        effects.append(.end(ending.connectionEnd))
    }

    mutating func lose(unsent: Set<WAMPID>, at now: Moment, into effects: inout [ClientEffect]) {
        switch phase {
        case .apart, .over: return
        case .leaving: drop(.left, at: now, into: &effects)
        case .greeted, .proving, .checking, .dropping:
            phase = .apart
            alarms.cancel(.join)
        case .joined:
            phase = .apart
            part(.connectionLost(wasSent: true), unsent: unsent, at: now, into: &effects)
        }
    }

    private mutating func part(
        _ failure: ClientFailure, unsent: Set<WAMPID> = [], at now: Moment, into effects: inout [ClientEffect]
    ) {
        effects.append(.event(.parted))
        endSession(failure, unsent: unsent, at: now, into: &effects)
    }

    /// Ends everything that belongs to the session, because the router will not answer it any more.
    private mutating func endSession(
        _ failure: ClientFailure, unsent: Set<WAMPID> = [], at now: Moment, into effects: inout [ClientEffect]
    ) {
        requests.lose(unsent: unsent)
        for pending in requests.endAll() {
            let end = pending.mayHaveArrived ? failure : .connectionLost(wasSent: false)
            switch pending.request {
            // For progressive input, perhaps only a later part was not sent.
            case .call(let call): effects.append(.event(.failed(call.handle, call.hasContinued ? failure : end)))
            case .publish(let handle): effects.append(.event(.failed(handle, end)))
            // The next session sets its testaments again.
            case .testament, .subscribe, .unsubscribe, .register, .unregister, .history: break
            }
        }
        sent.removeAll()
        for handle in invocations.takeAll() { effects.append(.event(.interrupted(handle, reason: nil))) }
        guard failure != .ended else { return }
        loseTopics(at: now, into: &effects)
        loseProcedures(at: now, into: &effects)
    }

    private mutating func endEverything(into effects: inout [ClientEffect]) {
        let waiting = line.endAll().map(\.id)
        let listeners = topics.listeners.keys.sorted { $0.number < $1.number }
        let offered = procedures.inOrder.compactMap { procedures[$0] }.filter(\.isWanted).map(\.handle)
        let handles = waiting + listeners + offered
        for handle in handles { effects.append(.event(.failed(handle, .ended))) }
        let unsubscribing = topics.unsubscribing.values.joined().sorted { $0.number < $1.number }
        for handle in unsubscribing { effects.append(.event(.unsubscribed(handle))) }
        (topics, procedures, alarms) = (TopicTable(), ProcedureTable(), Alarms())
    }
}

/// The features of the current session's router, as its welcome announces them.
struct RouterTraits: Hashable, Sendable {
    private(set) var broker: Set<String> = []
    private(set) var dealer: Set<String> = []
    /// Whether the router supports CANCEL.
    private(set) var cancels = false
    /// Whether the dealer enforces or forwards the timeout of a call.
    private(set) var timesOut = false
    /// Whether a call's input may be sent in parts.
    private(set) var takesParts = false
    /// Whether a call's result may come in parts.
    private(set) var givesProgress = false

    init() {}

    init(welcome details: ValueMap) {
        broker = Self.features(of: "broker", in: details)
        dealer = Self.features(of: "dealer", in: details)
        // Both spellings are in use.
        cancels = dealer.contains("call_canceling") || dealer.contains("call_cancelling")
        timesOut = dealer.contains("call_timeout")
        takesParts = dealer.contains("progressive_call_invocations")
        givesProgress = dealer.contains("progressive_call_results")
    }

    /// Returns the feature that a subscription or registration needs and the router lacks.
    ///
    /// If a router announces no features at all, the client assumes that it has them.
    func lacking(match: WAMPMatch, among features: Set<String>, named name: String) -> String? {
        match == .exact || features.isEmpty || features.contains(name) ? nil : name
    }

    private static func features(of role: String, in details: ValueMap) -> Set<String> {
        guard let features = details["roles"]?[role]?["features"]?.entries else { return [] }
        return Set(features.entries.compactMap { $0.value == true ? $0.key.string : nil })
    }
}

/// An event that the router publishes when the session ends.
///
/// A testament belongs to one session, so a client sets its testaments again each time it joins.
///
/// Source: WAMP, "Session Testament".
///
/// It is a class, so that it takes little space in the options of each call.
package final class Testament: Hashable, Sendable {
    package static let procedure = "wamp.session.add_testament"
    package static let flush = "wamp.session.flush_testaments"

    package let scope: TestamentScope
    /// The arguments of the call that sets the testament.
    package let call: WAMPArguments

    package init(topic: String, arguments: WAMPArguments, options: PublishOptions, scope: TestamentScope) throws(CodecError) {
        self.scope = scope
        call = WAMPArguments(
            [.text(topic), .array(try arguments.list), .map(try arguments.keywords)],
            keywords: ["publish_options": .map(Self.map(options)), "scope": .text(scope.rawValue)])
    }

    package static func == (lhs: Testament, rhs: Testament) -> Bool { (lhs.scope, lhs.call) == (rhs.scope, rhs.call) }
    package func hash(into hasher: inout Hasher) { hasher.combine(call) }

    private static func map(_ options: PublishOptions) -> ValueMap {
        var map = options.other
        if options.isRetained { map["retain"] = true }
        if let discloseMe = options.discloseMe { map["disclose_me"] = .bool(discloseMe) }
        options.excluded.write(into: &map, as: "exclude")
        options.eligible.write(into: &map, as: "eligible")
        return map
    }
}

/// When a testament is published.
///
/// Source: WAMP, "Session Testament".
public enum TestamentScope: String, Hashable, Sendable, CaseIterable {
    /// When the session has ended for good.
    case destroyed
    /// When the connection is lost, even if the router keeps the session.
    case detached
}
