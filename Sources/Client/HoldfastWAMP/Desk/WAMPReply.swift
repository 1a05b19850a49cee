/// Who gets the outcome of a request; exactly once.
///
/// An object, for a generic value is slow to copy.
final class WAMPReply<Value: Sendable>: Sendable {
    typealias Continuation = CheckedContinuation<Result<Value, WAMPError>, Never>
    private enum Receiver: Sendable {
        case continuation(Continuation)
        case closure(@Sendable (Result<Value, WAMPError>) -> Void)
    }
    private let receiver: Receiver

    private init(_ receiver: Receiver) { self.receiver = receiver }

    /// A task that waits.
    static func continuation(_ continuation: Continuation) -> WAMPReply { WAMPReply(.continuation(continuation)) }
    /// Code that is called.
    static func closure(_ closure: @escaping @Sendable (Result<Value, WAMPError>) -> Void) -> WAMPReply { WAMPReply(.closure(closure)) }

    /// Whether a task waits, which may be cancelled.
    var isAwaited: Bool { if case .continuation = receiver { true } else { false } }

    func end(_ result: Result<Value, WAMPError>) {
        switch receiver {
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
