package import NIOCore
package import NIOPosix
package import WebSocketCore
package import WebSocketRuntime

/// The options for opening one connection.
package struct ClientOptions: Sendable {
    package var url: WebSocketURL
    package var headers: HeaderFields = [:]
    package var subprotocols: [String] = []
    package var httpVersion = HTTPVersion.http1
    package var headLimit = 16 * 1024
    package var refusalBodyLimit = 4096
    package var connectTimeout: Duration = .seconds(10)
    package var handshakeTimeout: Duration = .seconds(10)
    package var tls = TLSOptions()
    /// The proxy that opens the TCP connection; nil connects directly.
    package var proxy: Proxy?
    /// Returns the proxy for the target of a redirect; nil keeps the same proxy.
    package var proxyAfterRedirect: (@Sendable (WebSocketURL) throws(TransportError) -> Proxy?)?
    /// The TLS options for a proxy that is reached over TLS.
    package var proxyTLS = TLSOptions()
    /// Whether, and how far, redirects are followed.
    package var redirects = RedirectPolicy.never
    /// The subprotocols to offer after a redirect has left the origin: those that contain no secrets.
    package var publicSubprotocols: [String] = []
    /// The store of cookies; nil keeps none.
    package var cookies: CookieStore?
    /// The event loops of the connections; nil uses ``NIOConnector/defaultGroup``.
    package var group: (any EventLoopGroup)?
    /// Resolves the addresses of hosts; nil uses the system's resolver.
    package var resolver: (@Sendable (any EventLoop) -> any Resolver & Sendable)?
    package var connection = ConnectionSettings(role: .client)
    /// Creates the handler that receives the messages on the event loop, once the connection is open; nil lets tasks take them.
    package var inline: (@Sendable () -> any InlineHandler)?

    package init(url: WebSocketURL) { self.url = url }

    /// The options with the cookies for this URL, which are not sent to other URLs of a redirect.
    var withCookies: ClientOptions {
        var options = self
        cookies?.jar.add(to: &options.headers, for: url, at: TrustGate.now)
        return options
    }

    /// Stores the cookies that the server has set, whatever its response is.
    func keepCookies(of response: ResponseHead) { cookies?.take(response.headers, from: url, at: TrustGate.now) }

    /// The endpoint that the socket itself is connected to.
    enum Destination {
        case host(String, Int)
        case socket(path: String)
    }

    var destination: Destination {
        if let path = url.socketPath { return .socket(path: path) }
        return proxy.map { .host($0.host, $0.port) } ?? .host(url.host, url.port)
    }

    /// Whether the bytes of the socket are those of the WebSocket, without TLS around them.
    var isPlain: Bool { !url.isSecure && proxy?.kind != .https }
}

/// The settings of one connection after the handshake, the same for both roles.
package struct ConnectionSettings: Sendable {
    /// Whether this side is the client or the server.
    package var role: Role
    /// The limits for received messages: the size of frames and messages, and the number of fragments.
    package var limits = MessageLimits()
    /// Whether messages are delivered whole or in pieces.
    package var delivery = Delivery.messages
    /// The options of compression; nil disables it.
    package var compression: CompressionOptions?
    /// The number of bytes of received messages that may wait for the app.
    package var receiveBuffer = 256 * 1024
    /// The number of bytes of messages that may wait for the socket.
    package var sendBuffer = 64 * 1024
    /// The timeout for the close handshake.
    package var closeTimeout: Duration = .seconds(10)
    /// The length of silence after which a ping is sent; nil sends none.
    package var pingInterval: Duration? = .seconds(20)
    /// The message that replaces pings; nil sends pings.
    package var pingMessage: PingMessage?
    /// The timeout for a pong.
    package var pingTimeout: Duration = .seconds(10)
    /// How long the peer may accept no data; nil means no limit.
    package var stallTimeout: Duration? = .seconds(30)

    /// Creates the default settings for a role.
    package init(role: Role) { self.role = role }
}
