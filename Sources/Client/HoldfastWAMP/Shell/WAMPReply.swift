/// Who gets the outcome of a request; exactly once.
///
/// An object, for a generic value is slow to copy.
final class WAMPReply<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, WAMPError>
    /// Whether a task waits, which may be cancelled.
    let isAwaited: Bool
    private let give: @Sendable (Outcome) -> Void

    private init(isAwaited: Bool, give: @escaping @Sendable (Outcome) -> Void) { (self.isAwaited, self.give) = (isAwaited, give) }

    static func continuation(_ continuation: CheckedContinuation<Outcome, Never>) -> WAMPReply {
        WAMPReply(isAwaited: true) { continuation.resume(returning: $0) }
    }

    static func closure(_ closure: @escaping @Sendable (Outcome) -> Void) -> WAMPReply { WAMPReply(isAwaited: false, give: closure) }

    func end(_ outcome: Outcome) { give(outcome) }
}

/// A request in words.
struct WAMPRequest: Sendable, CustomStringConvertible {
    let kind: String
    let uri: String

    var description: String { "\(kind) \(uri)" }
}
