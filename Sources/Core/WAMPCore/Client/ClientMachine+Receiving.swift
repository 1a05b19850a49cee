internal import CodecCore
internal import MachineCore
internal import ProtocolCore

extension ClientMachine {
    mutating func receive(_ message: WAMPMessage, at now: Moment, into effects: inout [ClientEffect]) {
        switch phase {
        case .joined: receiveJoined(message, at: now, into: &effects)
        case .greeted, .proving, .checking: receiveEarly(message, at: now, into: &effects)
        case .leaving:
            // All other messages were sent before the router received the goodbye.
            switch message {
            case .goodbye(let details, let reason, _), .abort(let details, let reason, _):
                dismiss(reason: reason, details: details, isEcho: false, at: now, into: &effects)
            default: break
            }
        case .apart, .dropping, .over: break
        }
    }

    mutating func receive(undecodable reason: String, at now: Moment, into effects: inout [ClientEffect]) {
        switch phase {
        case .greeted, .proving, .checking, .joined: violate("a message cannot be read: \(reason)", at: now, into: &effects)
        case .apart, .leaving, .dropping, .over: break
        }
    }

    private mutating func receiveEarly(_ message: WAMPMessage, at now: Moment, into effects: inout [ClientEffect]) {
        switch (message, phase) {
        case (.welcome(let session, let details), .greeted): welcome(session, details: details, at: now, into: &effects)
        case (.challenge(let method, let extra), .greeted): challenge(method: method, extra: extra, at: now, into: &effects)
        case (.abort(let details, let reason, _), _): dismiss(reason: reason, details: details, isEcho: false, at: now, into: &effects)
        default: violate("\(message.name) before the session has joined", at: now, into: &effects)
        }
    }

    private mutating func receiveJoined(_ message: WAMPMessage, at now: Moment, into effects: inout [ClientEffect]) {
        switch message {
        case .event(let subscription, let publication, let details, let arguments):
            event(subscription, PastEvent(publication: publication, details: details, arguments: arguments), into: &effects)
        case .result(let request, let details, let arguments): result(request, details, arguments, at: now, into: &effects)
        case .invocation(let request, let registration, let details, let arguments):
            invoke(request, registration, details, arguments, into: &effects)
        case .interrupt(let request, let options): interrupt(request, options: options, into: &effects)
        case .error(let kind, let request, _, let uri, let arguments):
            refuse(kind, request, RequestRefusal(uri: uri, arguments: arguments), at: now, into: &effects)
        case .published(let request, let publication): published(request, publication: publication, at: now, into: &effects)
        case .subscribed(let request, let subscription): subscribed(request, subscription: subscription, at: now, into: &effects)
        case .unsubscribed(0, let details): revokeSubscription(details, at: now, into: &effects)
        case .unsubscribed(let request, _):
            guard case .unsubscribe(let topic)? = answered(.unsubscribe, request, at: now, into: &effects)?.request else { return }
            unsubscribed(topic: topic, at: now, into: &effects)
        case .registered(let request, let registration): registered(request, registration: registration, at: now, into: &effects)
        case .unregistered(0, let details): revokeRegistration(details, at: now, into: &effects)
        case .unregistered(let request, _):
            guard case .unregister(let procedure)? = answered(.unregister, request, at: now, into: &effects)?.request else { return }
            unregistered(procedure: procedure, at: now, into: &effects)
        case .goodbye(let details, let reason, _): dismiss(reason: reason, details: details, isEcho: true, at: now, into: &effects)
        case .abort(let details, let reason, _): dismiss(reason: reason, details: details, isEcho: false, at: now, into: &effects)
        case .hello, .welcome, .challenge, .authenticate, .publish, .subscribe, .unsubscribe, .call, .cancel, .register, .unregister,
            .yield:
            violate("\(message.name) within a session", at: now, into: &effects)
        }
    }

    private mutating func refuse(
        _ kind: WAMPRequestKind, _ request: WAMPID, _ refusal: RequestRefusal, at now: Moment, into effects: inout [ClientEffect]
    ) {
        guard kind != .invocation else { return violate("ERROR of an INVOCATION", at: now, into: &effects) }
        let pending = answered(kind, request, isError: true, at: now, into: &effects)
        switch pending?.request {
        case .call(let call):
            // A dealer that also enforces the timeout may be slightly earlier than the client.
            let isOurTimeout = pending?.due != nil && refusal.uri == WAMPURI.Error.timeout
            fail(call.handle, isOurTimeout ? .timedOut(wasSent: true) : refusal.failure, into: &effects)
        case .publish(let handle): fail(handle, refusal.failure, into: &effects)
        case .history(let topic): finishHistory(topic: topic, nil, into: &effects)
        case .testament: effects.append(.event(.testamentFailed(refusal.failure)))
        case .subscribe(let topic): refuse(topic: topic, refusal, at: now, into: &effects)
        // The subscription no longer exists then.
        case .unsubscribe(let topic): unsubscribed(topic: topic, at: now, into: &effects)
        case .register(let procedure): refuse(procedure: procedure, refusal, at: now, into: &effects)
        case .unregister(let procedure): unregistered(procedure: procedure, at: now, into: &effects)
        case nil: break
        }
    }

    /// Returns the pending request of this kind that a message answers, and removes it.
    ///
    /// Returns nil if the request is no longer pending, because the answer is late. An answer to a request that was never made, or to one
    /// of another kind, is a protocol violation.
    mutating func answered(
        _ kind: WAMPRequestKind, _ request: WAMPID, isError: Bool = false, at now: Moment, into effects: inout [ClientEffect]
    ) -> PendingRequests<WAMPID, SentRequest>.Pending? {
        if let pending = requests.end(request, where: { $0.kind == kind }) { return pending }
        if requests[request] != nil {
            violate("\(isError ? "ERROR" : "an answer") of another kind than its request", at: now, into: &effects)
        } else if !numbers.wereUsed(request) {
            violate("\(isError ? "ERROR of" : "an answer to") a request that was never made", at: now, into: &effects)
        }
        return nil
    }
}

/// The content of an ERROR.
struct RequestRefusal: Hashable, Sendable {
    let uri: String
    let arguments: WAMPArguments

    var failure: ClientFailure { .refused(uri: uri, arguments: arguments) }
}

/// The request IDs of a session: 1, 2, 3… and after 2^53 from 1 again.
///
/// Source: WAMP, "Identifiers".
struct RequestNumbers: Hashable, Sendable {
    /// The last ID that was used; 0: none.
    var last: WAMPID = 0
    var hasWrapped = false

    mutating func next() -> WAMPID {
        if last >= .largestWAMPID { (last, hasWrapped) = (0, true) }
        last += 1
        return last
    }

    /// Returns whether a request of this session had the ID.
    func wereUsed(_ id: WAMPID) -> Bool { id > 0 && id <= (hasWrapped ? .largestWAMPID : last) }
}

/// The subject of a request that was sent and not answered.
enum SentRequest: Hashable, Sendable {
    case call(SentCall)
    case publish(ClientHandle)
    case subscribe(topic: Int)
    case unsubscribe(topic: Int)
    case register(procedure: Int)
    case unregister(procedure: Int)
    /// A request for the router's history of a topic, sent as a CALL.
    case history(topic: Int)
    /// A testament of an earlier session, set again with a CALL.
    case testament

    /// The request kind in an ERROR that answers it.
    var kind: WAMPRequestKind {
        switch self {
        case .call, .history, .testament: .call
        case .publish: .publish
        case .subscribe: .subscribe
        case .unsubscribe: .unsubscribe
        case .register: .register
        case .unregister: .unregister
        }
    }
}

/// A call that was sent.
struct SentCall: Hashable, Sendable {
    let handle: ClientHandle
    let cancelMode: CallOptions.CancelMode
    let wantsProgress: Bool
    /// Whether more input was sent after the first part.
    var hasContinued = false
    /// The procedure for further parts of the input; nil: there are none.
    var openProcedure: String?
    /// The testament to keep once the router has accepted it.
    var testament: Testament?
}

/// A call or publication that waits for the session.
enum WaitingRequest: Hashable, Sendable {
    case call(procedure: String, WAMPArguments, CallOptions, due: Moment?, parts: [InvocationPart]?)
    case publish(topic: String, WAMPArguments, PublishOptions, due: Moment)

    /// Adds a part to a call's input, if it accepts parts; returns false if it has too many already.
    mutating func add(_ part: InvocationPart, limit: Int) -> Bool {
        guard case .call(let procedure, let arguments, let options, let due, var parts?) = self, parts.last?.isLast != true else {
            return true
        }
        guard parts.count < limit else { return false }
        parts.append(part)
        self = .call(procedure: procedure, arguments, options, due: due, parts: parts)
        return true
    }
}

/// A part of a call's input.
struct InvocationPart: Hashable, Sendable {
    let arguments: WAMPArguments
    let isLast: Bool

    init(_ arguments: WAMPArguments, isLast: Bool) { (self.arguments, self.isLast) = (arguments, isLast) }
}
