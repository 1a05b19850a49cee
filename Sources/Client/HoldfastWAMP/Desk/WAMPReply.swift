/// Who gets the outcome of a request; exactly once.
enum WAMPReply<Value: Sendable>: Sendable {
    case continuation(CheckedContinuation<Result<Value, WAMPError>, Never>)
    case closure(@Sendable (Result<Value, WAMPError>) -> Void)

    func end(_ result: Result<Value, WAMPError>) {
        switch self {
        case .continuation(let continuation): continuation.resume(returning: result)
        case .closure(let closure): closure(result)
        }
    }
}

/// A request in words.
struct WAMPRequest: Sendable, CustomStringConvertible {
    let kind: String
    let uri: String

    var description: String { "\(kind) \(uri)" }
}
