package import CodecCore
package import MachineCore
package import ProtocolCore

/// A client's side of WAMP: sessions that come and go, and calls, events and procedures that outlive them.
///
/// It says hello on each connection, and once it has joined it subscribes and registers again, in the order in which the app first did, and
/// sends what waited. Handles of challenges and invocations are its own: they begin at 2^63, where the app's never get to.
package struct ClientMachine: ProtocolMachine {
    /// What the methods of authentication say beforehand, such as a fresh nonce: the `authextra` of HELLO.
    package typealias Greeting = ValueMap
    package typealias Received = WAMPMessage
    package typealias Sent = WAMPMessage
    package typealias Command = ClientCommand
    package typealias Event = ClientNews
    package typealias Input = ClientInput
    package typealias Effect = ClientEffect

    /// Who it is, and its bounds.
    package let policy: ClientPolicy

    var phase = Phase.apart
    /// The method of the challenge.
    var method: String?
    /// The session while the router's proof is checked.
    var candidate: JoinedSession?
    /// Why it is over.
    var ending: ClientEnding?
    var router = RouterTraits()
    var numbers = RequestNumbers()
    var alarms = Alarms<Alarm>()
    var generator: SplitMix64
    var lastHandle: UInt64 = 1 << 63
    /// What was sent, and is not answered.
    var requests = PendingRequests<WAMPID, SentRequest>(limit: .max)
    /// The numbers of the calls and publications among them.
    var sent: [ClientHandle: WAMPID] = [:]
    /// What waits for the session.
    var line = PendingRequests<ClientHandle, WaitingRequest>(limit: .max)
    var topics = TopicBook()
    var procedures = ProcedureBook()
    var invocations = InvocationBook()
    /// What the router has taken, and gets again in each session.
    var testaments: [Testament] = []

    /// A client that is not connected.
    ///
    /// - Parameters:
    ///   - policy: Who it is, and its bounds.
    ///   - seed: Where chance begins: the pauses before a registration is tried again.
    package init(policy: ClientPolicy, seed: UInt64) {
        var policy = policy
        (policy.joinPatience, policy.answerPatience) = (policy.joinPatience.bounded, policy.answerPatience.bounded)
        policy.goodbyePatience = policy.goodbyePatience.bounded
        (self.policy, generator) = (policy, SplitMix64(seed: seed))
    }

    /// When the next patience ends, or the next pause; nil if nothing waits.
    package var deadline: Moment? { .earliest(alarms.next, requests.deadline, line.deadline) }

    package mutating func handle(_ input: Input, at now: Moment, into effects: inout [ClientEffect]) {
        switch input {
        case .opened(let authExtra): open(authExtra: authExtra, at: now, into: &effects)
        case .received(let message): receive(message, at: now, into: &effects)
        case .undecodable(let reason): receive(undecodable: reason, at: now, into: &effects)
        case .lost(let unsent): lose(unsent: Set(unsent.compactMap(\.ownRequest)), at: now, into: &effects)
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
        case .part(let handle, let arguments, let isLast): add(CallPart(arguments, isLast: isLast), to: handle, into: &effects)
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

    // MARK: Small words

    /// How many requests wait, for the session or their answer.
    var waiting: Int { requests.count + line.count + topics.waiting.count + procedures.waiting.count }

    mutating func newHandle() -> ClientHandle {
        defer { lastHandle &+= 1 }
        return ClientHandle(lastHandle)
    }

    /// A number for the next request, under which it is remembered.
    mutating func number(_ request: SentRequest, due: Moment? = nil) -> WAMPID {
        var id = numbers.next()
        // After 2^53 requests an old one may still be open.
        while !requests.add(id, request, due: due, isSent: true) { id = numbers.next() }
        return id
    }

    /// Why a new request cannot be taken, if so; without patience it does not wait for the session either.
    func refusal(of uri: String, match: WAMPMatch = .exact, mayWait: Bool) -> ClientFailure? {
        if phase == .over || phase == .leaving { return .ended }
        guard WAMPURI.isValid(uri, match) else { return .invalidURI(uri) }
        guard waiting < policy.maximumWaiting else { return .tooManyWaiting }
        return phase == .joined || mayWait ? nil : .notJoined
    }

    /// A pause before another try: longer each time, with chance in its second half.
    mutating func pause(try number: Int) -> Duration {
        let first = min(max(policy.retryPause, .milliseconds(1)), .seconds(3600))
        let backoff = Backoff(base: first, cap: max(first, .seconds(5)), minimum: .zero, jitter: .equal)
        return backoff.delay(attempt: number + 1, using: &generator)
    }
}

package typealias ClientInput = ProtocolInput<ClientMachine>
package typealias ClientEffect = ProtocolEffect<ClientMachine>

extension WAMPMessage {
    /// The number of a call or a publication.
    fileprivate var ownRequest: WAMPID? {
        switch self {
        case .call(let request, _, _, _), .publish(let request, _, _, _): request
        default: nil
        }
    }
}

extension ClientMachine {
    /// What is due: a deadline that has passed, or another try.
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
    /// As much of it as a moment can be away: longer than any process lives, where an app means for ever.
    package var bounded: Duration { min(max(self, .zero), .seconds(1 << 32)) }
}

extension ClientMachine {
    /// Where a client stands with its router.
    enum Phase: Hashable, Sendable {
        /// No connection; to `greeted`, or to `over`.
        case apart
        /// HELLO was sent; to `proving` with CHALLENGE, `joined` or `checking` with WELCOME.
        case greeted
        /// The app looks for its proof; to `greeted` with AUTHENTICATE.
        case proving(ClientHandle)
        /// The app checks the router's proof; to `joined`.
        case checking(ClientHandle)
        /// In the realm; to `leaving`, `dropping`, `apart`, `over`.
        case joined
        /// GOODBYE was sent; to `over`.
        case leaving
        /// The connection is to end; to `apart` once it has.
        case dropping
        /// For good.
        case over
    }

    /// What can be due.
    enum Alarm: Hashable, Sendable {
        /// The welcome.
        case join
        /// The answer to GOODBYE.
        case goodbye
        /// The end of a listener's patience.
        case listener(ClientHandle)
        /// The answer to a SUBSCRIBE that was sent again, or another try of it.
        case topic(Int)
        /// The end of a procedure's patience.
        case procedure(Int)
        /// Another try of a REGISTER.
        case registering(Int)
    }
}
