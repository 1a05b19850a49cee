public import WebSocketRuntime

/// Who gets the outcome of a request; exactly once.
///
/// An object, for a generic value is slow to copy.
@usableFromInline package final class Reply<Value: Sendable, Failure: Error>: Sendable {
    @usableFromInline package typealias Outcome = Result<Value, Failure>
    /// Whether a task waits, which may be cancelled.
    @usableFromInline package let isAwaited: Bool
    @usableFromInline let give: @Sendable (Outcome) -> Void

    @usableFromInline init(isAwaited: Bool, give: @escaping @Sendable (Outcome) -> Void) { (self.isAwaited, self.give) = (isAwaited, give) }

    @inlinable package static func continuation(_ continuation: CheckedContinuation<Outcome, Never>) -> Reply {
        Reply(isAwaited: true) { continuation.resume(returning: $0) }
    }

    @inlinable package static func closure(_ closure: @escaping @Sendable (Outcome) -> Void) -> Reply {
        Reply(isAwaited: false, give: closure)
    }

    @inlinable package func end(_ outcome: Outcome) { give(outcome) }
}

extension Reply {
    /// Begins something, and waits for its outcome; when the task is cancelled, what was begun is ended.
    ///
    /// - Parameters:
    ///   - end: Ends what was begun; the reply gets its outcome by that.
    ///   - begin: Begins it; nil if the reply has got its outcome already.
    @inlinable package static func wait<Handle: Sendable>(
        endingWith end: @escaping @Sendable (Handle) -> Void, _ begin: (Reply) -> Handle?
    ) async throws(Failure) -> (Value, Handle?) {
        let begun = LockedValue<Handle?>(nil)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Outcome, Never>) in
                guard let handle = begin(.continuation(continuation)) else { return }
                begun.withLockedValue { $0 = handle }
                // It was cancelled after it was begun, and before anybody could say what.
                if Task.isCancelled { end(handle) }
            }
        } onCancel: {
            if let handle = begun.withLockedValue({ $0 }) { end(handle) }
        }
        return (try result.get(), begun.withLockedValue { $0 })
    }
}
