public import SessionCore

/// Tells a ``WebSocket`` what happens to the network: see ``WebSocketOptions/pathSource``.
///
/// What it tells counts as if the app had said it with ``WebSocket/tell(_:)-(PathWatch.Input)``.
public protocol PathSource: Sendable {
    /// What happens to the network from now on, beginning with how it is.
    ///
    /// Called once by each socket, and let go when the socket ends.
    func updates() -> AsyncStream<PathWatch.Input>
}

/// News of the network for a socket that also connects within this device: without a network that goes on working.
///
/// So nothing is held back, and what is open is asked whether it lives.
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
