internal import MachineCore

/// The ids of a session's requests: 1, 2, 3… and after 2^53 from 1 again.
///
/// Source: WAMP, "Identifiers".
struct RequestNumbers: Hashable, Sendable {
    /// The last one that was used; 0: none.
    var last: WAMPID = 0
    var hasWrapped = false

    mutating func next() -> WAMPID {
        if last >= .largestWAMPID { (last, hasWrapped) = (0, true) }
        last += 1
        return last
    }

    /// Whether a request of this session had the id.
    func wereUsed(_ id: WAMPID) -> Bool { id > 0 && id <= (hasWrapped ? .largestWAMPID : last) }
}

/// What a request that was sent, and is not answered, is about.
enum SentRequest: Hashable, Sendable {
    case call(SentCall)
    case publish(ClientHandle)
    case subscribe(topic: Int)
    case unsubscribe(topic: Int)
    case register(procedure: Int)
    case unregister(procedure: Int)
    /// The router's history of a topic, asked for with a CALL.
    case history(topic: Int)
    /// A testament of an earlier session, handed in again with a CALL.
    case testament

    /// As what an ERROR answers it.
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
    /// Whether more input was sent than the first part.
    var hasContinued = false
    /// Under what more input is sent; nil: there comes none.
    var openProcedure: String?
    /// What is kept once the router has it.
    var testament: Testament?
}

/// A call or publication that waits for the session.
enum WaitingRequest: Hashable, Sendable {
    case call(procedure: String, WAMPArguments, CallOptions, due: Moment?, parts: [CallPart]?)
    case publish(topic: String, WAMPArguments, PublishOptions, due: Moment)

    /// Adds a part to a call's input, unless it takes none; false if it has as many already.
    mutating func add(_ part: CallPart, limit: Int) -> Bool {
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
struct CallPart: Hashable, Sendable {
    let arguments: WAMPArguments
    let isLast: Bool

    init(_ arguments: WAMPArguments, isLast: Bool) { (self.arguments, self.isLast) = (arguments, isLast) }
}
