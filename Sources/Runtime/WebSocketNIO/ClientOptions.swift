package import WebSocketCore
package import WebSocketRuntime

/// What it takes to open one connection.
package struct ClientOptions: Sendable {
    package var url: WebSocketURL
    package var headers: HeaderFields = [:]
    package var subprotocols: [String] = []
    package var headLimit = 16 * 1024
    package var refusalBodyLimit = 4096
    package var connectTimeout: Duration = .seconds(10)
    package var handshakeTimeout: Duration = .seconds(10)
    package var tls = TLSOptions()
    package var connection = ConnectionSettings(role: .client)
    /// Makes who gets the messages on the event loop, once the connection is open; nil: tasks take them.
    package var inline: (@Sendable () -> any InlineHandler)?

    package init(url: WebSocketURL) { self.url = url }
}
