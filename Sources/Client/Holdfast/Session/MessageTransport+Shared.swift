package import WebSocketRuntime

#if SwiftNIO
    import WebSocketNIO
#endif

extension MessageTransport {
    /// Stops other WebSockets from sharing this TCP connection, because a reconnect should avoid a connection that may be broken.
    package func leaveSharedConnection() {
        #if SwiftNIO
            (carrier as? WebSocketChannel)?.leaveShared()
        #endif
    }
}
