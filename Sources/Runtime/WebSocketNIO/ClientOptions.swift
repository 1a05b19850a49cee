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

    package init(url: WebSocketURL) { self.url = url }
}
