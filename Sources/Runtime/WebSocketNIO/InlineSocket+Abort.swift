import WebSocketRuntime

extension InlineSocket {
    /// Drops the link at once, without a close handshake.
    package func abort() {
        handler?.takeUnretainedValue().abort(TransportError(.lost, "the connection was dropped by this side"))
    }
}
