package import WebSocketRuntime

#if SwiftNIO
    import WebSocketNIO
#endif

extension MessageTransport {
    /// Lets no other WebSocket share its TCP connection: whoever connects anew wants a way around what may be wrong with that one.
    package func leaveSharedConnection() {
        #if SwiftNIO
            (carrier as? WebSocketChannel)?.leaveShared()
        #endif
    }
}
