/// What a request that was sent, and is not answered, is about.
enum PendingRequest: Hashable, Sendable {
    case call(SentCall)
    case publish(ClientHandle)
    case subscribe(topic: Int)
    case unsubscribe(topic: Int)
    case register(procedure: Int)
    case unregister(procedure: Int)
    /// The router's history of a topic, asked for with a CALL.
    case history(topic: Int)
    /// A testament of an earlier session, handed in again with a CALL.
    case testament(ClientHandle)

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
    /// Whether an alarm is set.
    let hasTimeout: Bool
    /// Whether more input was sent than the first part.
    var hasContinued = false
    /// Under what more input is sent; nil: there comes none.
    var openProcedure: String?
    /// What is kept once the router has it.
    var testament: Testament?
}

/// A part of a call's input.
struct CallPart: Hashable, Sendable {
    let arguments: WAMPArguments
    let isLast: Bool

    init(_ arguments: WAMPArguments, isLast: Bool) { (self.arguments, self.isLast) = (arguments, isLast) }
}
