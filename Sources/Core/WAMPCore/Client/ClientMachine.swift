package import CodecCore
package import MachineCore
package import ProtocolCore

/// The client side of WAMP: sessions that come and go, and calls, events and procedures that outlive them.
///
/// It says hello on each connection. Once joined, it subscribes and registers again, in the order in which the app first did, and sends
/// the waiting requests. The machine chooses the handles of challenges and invocations from 2^63 on, which the app's handles never reach.
package struct ClientMachine: ProtocolMachine {
    /// The data that authentication methods send in advance, such as a fresh nonce: the `authextra` of HELLO.
    package typealias Greeting = ValueMap
    package typealias Received = WAMPMessage
    package typealias Sent = WAMPMessage
    package typealias Command = ClientCommand
    package typealias Event = ClientNews
    package typealias Input = ClientInput
    package typealias Effect = ClientEffect

    /// The client's identity and limits.
    package let policy: ClientPolicy

    var phase = Phase.apart
    /// The method of the current challenge.
    var method: String?
    /// The session while the router's proof is being checked.
    var candidate: JoinedSession?
    /// Why the client has ended for good.
    var ending: ClientEnding?
    var router = RouterTraits()
    var numbers = RequestNumbers()
    var alarms = Alarms<Alarm>()
    var generator: SplitMix64
    var lastHandle: UInt64 = 1 << 63
    /// The requests that were sent and not answered.
    var requests = PendingRequests<WAMPID, SentRequest>(limit: .max)
    /// The request numbers of the calls and publications among them.
    var sent: [ClientHandle: WAMPID] = [:]
    /// The requests that wait for the session.
    var line = PendingRequests<ClientHandle, WaitingRequest>(limit: .max)
    var topics = TopicTable()
    var procedures = ProcedureTable()
    var invocations = InvocationTable()
    /// The testaments that the router has accepted, and that the client sets again in each session.
    var testaments: [Testament] = []

    /// Creates a client without a connection.
    ///
    /// - Parameters:
    ///   - policy: The client's identity and limits.
    ///   - seed: The seed for the random part of the pauses before a registration is retried.
    package init(policy: ClientPolicy, seed: UInt64) {
        var policy = policy
        (policy.joinPatience, policy.answerPatience) = (policy.joinPatience.bounded, policy.answerPatience.bounded)
        policy.goodbyePatience = policy.goodbyePatience.bounded
        (self.policy, generator) = (policy, SplitMix64(seed: seed))
    }

    /// The earliest time limit or end of a pause; nil if there is none.
    package var deadline: Moment? { .earliest(alarms.next, requests.deadline, line.deadline) }

    package mutating func handle(_ input: Input, at now: Moment, into effects: inout [ClientEffect]) {
        switch input {
        case .opened(let authExtra): open(authExtra: authExtra, at: now, into: &effects)
        case .received(let message): receive(message, at: now, into: &effects)
        case .undecodable(let reason): receive(undecodable: reason, at: now, into: &effects)
        case .lost(let unsent, _): lose(unsent: Set(unsent.compactMap(\.ownRequest)), at: now, into: &effects)
        case .paused, .resumed: break
        case .command(let command): handle(command, at: now, into: &effects)
        }
    }

    private mutating func handle(_ command: ClientCommand, at now: Moment, into effects: inout [ClientEffect]) {
        switch command {
        case .proven(let handle, let signature, let extra): prove(handle, signature: signature, extra: extra, into: &effects)
        case .unproven(let handle, let reason, let isHopeless):
            disprove(handle, reason: reason, isHopeless: isHopeless, at: now, into: &effects)
        case .checked(let handle, let isGenuine): check(handle, isGenuine: isGenuine, at: now, into: &effects)
        case .leave(let reason): leave(reason: reason, at: now, into: &effects)
        case .forgetTestaments(let scope): testaments.removeAll { $0.scope == scope }
        case .call(let handle, let procedure, let arguments, let options):
            call(handle, procedure, arguments, options, inParts: false, at: now, into: &effects)
        case .callInParts(let handle, let procedure, let arguments, let options):
            call(handle, procedure, arguments, options, inParts: true, at: now, into: &effects)
        case .part(let handle, let arguments, let isLast): add(InvocationPart(arguments, isLast: isLast), to: handle, into: &effects)
        case .cancel(let handle): cancel(handle, into: &effects)
        case .publish(let handle, let topic, let arguments, let options):
            publish(handle, topic, arguments, options, at: now, into: &effects)
        case .subscribe(let handle, let key, let options, let patience):
            subscribe(handle, key, options, patience: patience?.bounded, at: now, into: &effects)
        case .unsubscribe(let handle): unsubscribe(handle, at: now, into: &effects)
        case .endSubscription(let handle): endSubscription(handle, at: now, into: &effects)
        case .register(let handle, let procedure, let options, let patience):
            register(handle, procedure, options, patience: patience?.bounded, at: now, into: &effects)
        case .unregister(let handle): unregister(handle, at: now, into: &effects)
        case .yield(let handle, let arguments, let isFinal): yield(handle, arguments, isFinal: isFinal, into: &effects)
        case .fail(let handle, let uri, let arguments): fail(handle, uri: uri, arguments, into: &effects)
        }
    }

    // MARK: Helpers

    /// The number of requests that wait for the session or for an answer.
    var waiting: Int { requests.count + line.count + topics.waiting.count + procedures.waiting.count }

    mutating func newHandle() -> ClientHandle {
        defer { lastHandle &+= 1 }
        return ClientHandle(lastHandle)
    }

    /// Returns a number for a new request, and records the request under it.
    mutating func number(_ request: SentRequest, due: Moment? = nil) -> WAMPID {
        var id = numbers.next()
        // After 2^53 requests, an old one may still be pending under this number.
        while !requests.add(id, request, due: due, isSent: true) { id = numbers.next() }
        return id
    }

    /// Returns why a new request is refused; nil if it is accepted.
    ///
    /// Without `mayWait`, it needs a joined session.
    func refusal(of uri: String, match: WAMPMatch = .exact, mayWait: Bool) -> ClientFailure? {
        if phase == .over || phase == .leaving { return .ended }
        guard WAMPURI.isValid(uri, match) else { return .invalidURI(uri) }
        guard waiting < policy.maximumWaiting else { return .tooManyWaiting }
        return phase == .joined || mayWait ? nil : .notJoined
    }

    /// Returns the pause before the next try: it grows each time, and its second half is random.
    mutating func pause(try number: Int) -> Duration {
        let first = min(max(policy.retryPause, .milliseconds(1)), .seconds(3600))
        let backoff = Backoff(base: first, cap: max(first, .seconds(5)), minimum: .zero, jitter: .equal)
        return backoff.delay(attempt: number + 1, using: &generator)
    }
}

package typealias ClientInput = ProtocolInput<ClientMachine>
package typealias ClientEffect = ProtocolEffect<ClientMachine>

extension WAMPMessage {
    /// The request number of a call or a publication.
    fileprivate var ownRequest: WAMPID? {
        switch self {
        case .call(let request, _, _, _), .publish(let request, _, _, _): request
        default: nil
        }
    }
}

extension ClientMachine {
    /// Handles everything that is due: passed time limits and further tries.
    package mutating func wake(at now: Moment, into effects: inout [ClientEffect]) {
        while let alarm = alarms.due(at: now) {
            switch alarm {
            case .join:
                abort(WAMPURI.Error.timeout, "joining took too long", into: &effects)
                drop(.joinTimedOut, at: now, into: &effects)
            case .goodbye: drop(.left, at: now, into: &effects)
            case .listener(let handle): timeOut(listener: handle, at: now, into: &effects)
            case .topic(let number): wakeTopic(number, at: now, into: &effects)
            case .procedure(let number): timeOut(procedure: number, at: now, into: &effects)
            case .registering(let number): wakeProcedure(number, at: now, into: &effects)
            }
        }
        while let request = requests.overdue(at: now) { end(request, .timedOut(wasSent: true), into: &effects) }
        while let waiting = line.overdue(at: now) { effects.append(.event(.failed(waiting.id, .timedOut(wasSent: false)))) }
    }
}

extension Duration {
    /// The duration limited to a value that a moment can hold; it is longer than any process lives, so it stands for "for ever".
    package var bounded: Duration { min(max(self, .zero), .seconds(1 << 32)) }
}

extension ClientMachine {
    /// The phase of a client's session.
    enum Phase: Hashable, Sendable {
        /// No connection; to `greeted`, or to `over`.
        case apart
        /// HELLO was sent; to `proving` with CHALLENGE, `joined` or `checking` with WELCOME.
        case greeted
        /// The app prepares its proof; to `greeted` with AUTHENTICATE.
        case proving(ClientHandle)
        /// The app checks the router's proof; to `joined`.
        case checking(ClientHandle)
        /// In the realm; to `leaving`, `dropping`, `apart`, `over`.
        case joined
        /// GOODBYE was sent; to `over`.
        case leaving
        /// The client has ended the connection; to `apart` once it is closed.
        case dropping
        /// Ended for good.
        case over
    }

    /// A timer of the client.
    enum Alarm: Hashable, Sendable {
        /// The time limit for joining.
        case join
        /// The time limit for the answer to GOODBYE.
        case goodbye
        /// The time limit of a listener.
        case listener(ClientHandle)
        /// The time limit for the answer to a repeated SUBSCRIBE, or the end of the pause before it.
        case topic(Int)
        /// The time limit of a procedure.
        case procedure(Int)
        /// The end of the pause before another REGISTER.
        case registering(Int)
    }
}

/// The identity and the limits of a WAMP client.
public struct ClientPolicy: Hashable, Sendable {
    /// The realm to join.
    public var realm: String
    /// The authid that the client announces, or nil.
    public var authID: String?
    /// The authrole with which the client wants to join, or nil.
    public var authRole: String?
    /// The authentication methods that the client supports, the best first; empty: anonymous.
    public var authMethods: [String]
    /// The client's name for the router.
    public var agent: String
    /// The time limit for joining, counted from the opening of the connection.
    public var joinPatience: Duration
    /// The time limit for the router's answers to SUBSCRIBE, UNSUBSCRIBE, REGISTER and UNREGISTER.
    ///
    /// If an answer for a topic or procedure is overdue and the app makes a new request for it, the client reconnects.
    public var answerPatience: Duration
    /// The time limit for the router's answer to GOODBYE; then the client ends the connection.
    public var goodbyePatience: Duration
    /// The maximum number of requests that wait for the session or for an answer at once.
    public var maximumWaiting: Int
    /// The maximum number of concurrent invocations of a procedure; the client refuses more with `wamp.error.unavailable`.
    public var maximumInvocations: Int
    /// The first pause before the client repeats a refused registration; it doubles up to 5 s.
    public var retryPause: Duration

    /// Creates a policy.
    ///
    /// The defaults: 10 s to join, 10 s for answers, 2 s for GOODBYE, 65,536 waiting requests, 1,024 invocations per procedure, a first
    /// pause of 100 ms.
    public init(
        realm: String, authID: String? = nil, authRole: String? = nil, authMethods: [String] = [],
        agent: String = "holdfast", joinPatience: Duration = .seconds(10), answerPatience: Duration = .seconds(10),
        goodbyePatience: Duration = .seconds(2),
        maximumWaiting: Int = 65536, maximumInvocations: Int = 1024, retryPause: Duration = .milliseconds(100)
    ) {
        (self.realm, self.authID, self.authRole) = (realm, authID, authRole)
        (self.authMethods, self.agent) = (authMethods, agent)
        (self.joinPatience, self.answerPatience, self.goodbyePatience) = (joinPatience, answerPatience, goodbyePatience)
        (self.maximumWaiting, self.maximumInvocations, self.retryPause) = (maximumWaiting, maximumInvocations, retryPause)
    }
}

extension ClientPolicy {
    /// Returns the details of HELLO: the identity, and the features of this library in each role.
    ///
    /// Source: WAMP, "Feature Announcement".
    func hello(authExtra: ValueMap) -> ValueMap {
        var details: ValueMap = [
            "agent": .text(agent),
            "roles": [
                "publisher": Self.role("subscriber_blackwhite_listing", "publisher_exclusion", "publisher_identification"),
                "subscriber": Self.role("publisher_identification", "pattern_based_subscription", "subscription_revocation"),
                "caller": Self.role(
                    "caller_identification", "call_canceling", "call_timeout", "progressive_call_results", "progressive_call_invocations"),
                "callee": Self.role(
                    "caller_identification", "call_canceling", "progressive_call_results", "progressive_call_invocations",
                    "pattern_based_registration", "shared_registration", "registration_revocation"),
            ],
        ]
        if !authMethods.isEmpty { details["authmethods"] = .array(authMethods.map { .text($0) }) }
        if let authID { details["authid"] = .text(authID) }
        if let authRole { details["authrole"] = .text(authRole) }
        if !authExtra.isEmpty { details["authextra"] = .map(authExtra) }
        return details
    }

    private static func role(_ features: String...) -> Value {
        .map(["features": .map(ValueMap(features.map { ValueMap.Entry(key: .text($0), value: true) }))])
    }
}
