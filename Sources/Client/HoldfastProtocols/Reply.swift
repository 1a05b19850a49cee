public import WebSocketRuntime

/// The recipient of a request's outcome; it gets the outcome exactly once.
///
/// A class, because generic values are slow to copy.
@usableFromInline package final class Reply<Value: Sendable, Failure: Error>: Sendable {
    @usableFromInline package typealias Outcome = Result<Value, Failure>
    /// Whether a task waits for the outcome; that task may be cancelled.
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
    /// Begins an operation and waits for its outcome; if the task is cancelled, ends the operation.
    ///
    /// - Parameters:
    ///   - end: Ends the operation, which gives the reply its outcome.
    ///   - begin: Begins the operation and returns its handle; nil if the reply already has its outcome.
    @inlinable package static func wait<Handle: Sendable>(
        isolation actor: isolated (any Actor)? = #isolation, endingWith end: @escaping @Sendable (Handle) -> Void,
        _ begin: (Reply) -> Handle?
    ) async throws(Failure) -> (Value, Handle?) {
        let begun = LockedValue<Handle?>(nil)
        let result = await withTaskCancellationHandler {
            _ = actor  // A task that waits on an actor resumes there directly.
            return await withCheckedContinuation { (continuation: CheckedContinuation<Outcome, Never>) in
                guard let handle = begin(.continuation(continuation)) else { return }
                begun.withLockedValue { $0 = handle }
                // The task may have been cancelled before the handle was stored.
                if Task.isCancelled { end(handle) }
            }
        } onCancel: {
            if let handle = begun.withLockedValue({ $0 }) { end(handle) }
        }
        return (try result.get(), begun.withLockedValue { $0 })
    }
}
