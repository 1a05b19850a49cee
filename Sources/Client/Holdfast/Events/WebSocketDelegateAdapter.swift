public import Dispatch

/// Tells a delegate what happens to a socket, for as long as this object is kept.
///
/// It is one more consumer of ``WebSocket/events``, which suspends: while the delegate is busy, the peer waits. The socket is kept
/// alive, the delegate is not. After its release on the delegate's queue nothing more is called; on another, what is being called ends.
public final class WebSocketDelegateAdapter: Sendable {
    private let relay: QueueRelay

    /// Tells everything from now on.
    ///
    /// - Parameters:
    ///   - socket: What to follow.
    ///   - delegate: Whom to tell; held weakly.
    ///   - queue: Where its methods are called; a serial one.
    public init(_ socket: WebSocket, delegate: any WebSocketDelegate, queue: DispatchQueue = .main) {
        let listener = Listener(delegate)
        relay = QueueRelay(socket, on: queue) { event in listener.delegate?.hear(of: event, from: socket) }
    }

    /// SAFETY: set once, and read on the delegate's queue only.
    private final class Listener: @unchecked Sendable {
        private(set) weak var delegate: (any WebSocketDelegate)?

        init(_ delegate: any WebSocketDelegate) { self.delegate = delegate }
    }
}
