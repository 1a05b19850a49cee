import Dispatch
import WebSocketRuntime

/// Hands the events of a socket to a function on a queue, one at a time, until it is released.
final class QueueRelay: Sendable {
    private let isStopped = LockedValue(false)
    private let task: Task<Void, Never>

    /// Hears everything from now on; the socket waits while the queue does not keep up.
    init(_ socket: WebSocket, on queue: DispatchQueue, _ hear: @escaping @Sendable (WebSocketEvent) -> Void) {
        let subscription = Subscription(socket, .suspend(), .everything)
        // SAFETY: cancelled with this object, and it ends with the socket.
        task = Task { [isStopped] in
            while let event = await subscription.next() {
                await withCheckedContinuation { done in
                    queue.async {
                        // What was on its way when this was released is not heard any more.
                        if !isStopped.withLockedValue(\.self) { hear(event) }
                        done.resume()
                    }
                }
            }
        }
    }

    deinit {
        isStopped.withLockedValue { $0 = true }
        task.cancel()
    }
}
