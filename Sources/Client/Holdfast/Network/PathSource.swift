public import SessionCore

/// A source of network changes for a ``WebSocket``; see ``WebSocketOptions/pathSource``.
///
/// Its updates have the same effect as calls of ``WebSocket/notify(_:)-(PathWatch.Input)``.
public protocol PathSource: Sendable {
    /// Returns the network changes from now on, starting with the present state.
    ///
    /// Each socket calls this once, and releases the stream when it ends.
    func updates() -> AsyncStream<PathWatch.Input>
}

/// The network changes for a socket that also connects within this device, where a missing network does not matter.
///
/// It replaces `unsatisfied` by `notViable`, so no attempt is held back, and an open connection is checked with a ping.
struct LocalPathSource: PathSource {
    let source: any PathSource

    func updates() -> AsyncStream<PathWatch.Input> {
        let updates = source.updates()
        return AsyncStream { continuation in
            // SAFETY: ends with the stream that it feeds.
            let task = Task {
                for await update in updates { continuation.yield(update == .unsatisfied ? .notViable : update) }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}
