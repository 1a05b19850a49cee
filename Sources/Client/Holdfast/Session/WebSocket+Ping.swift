import WebSocketCore
import WebSocketRuntime

extension WebSocket {
    /// Sends a ping on the present connection and waits for its pong; returns the round trip time.
    ///
    /// The heartbeat asks by itself; this is for whoever wants to know.
    ///
    /// - Parameter timeout: How long to wait once the ping has left; nil: ``WebSocketTimeouts/ping``.
    /// - Throws: ``WebSocketError``, at once with ``TransportError/Code/unreachable`` if there is no connection now, and with
    ///   ``TransportError/Code/closed`` once the socket is closed; ``TransportError/Code/timedOut`` if no pong came: the connection
    ///   lives on.
    public func ping(timeout: Duration? = nil) async throws(WebSocketError) -> Duration { try await session.ping(timeout: timeout) }
}
