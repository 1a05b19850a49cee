import WebSocketNIO
package import WebSocketRuntime

extension MessageTransport {
    /// Lets no other WebSocket share its TCP connection: whoever connects anew wants a way around what may be wrong with that one.
    package func leaveSharedConnection() { (self as? WebSocketChannel)?.leaveShared() }
}
