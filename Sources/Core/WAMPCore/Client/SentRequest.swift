internal import MachineCore

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
