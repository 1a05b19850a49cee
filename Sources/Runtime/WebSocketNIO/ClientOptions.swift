package import NIOCore
package import NIOPosix
package import WebSocketCore
package import WebSocketRuntime

/// What it takes to open one connection.
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
    /// Who opens the TCP connection for us; nil: nobody.
    package var proxy: Proxy?
    /// Who opens it where a redirect leads; nil: the same.
    package var proxyAfterRedirect: (@Sendable (WebSocketURL) throws(TransportError) -> Proxy?)?
    /// How a proxy is checked that speaks TLS.
    package var proxyTLS = TLSOptions()
    /// Whether, and how far, redirects are followed.
    package var redirects = RedirectPolicy.never
    /// The subprotocols offered where a redirect has left the origin: none that is a secret.
    package var publicSubprotocols: [String] = []
    /// Where cookies are kept; nil: nowhere.
    package var cookies: CookieStore?
    /// Where connections live; nil: ``NIOConnector/defaultGroup``.
    package var group: (any EventLoopGroup)?
    /// Finds the addresses of hosts; nil: the system does.
    package var resolver: (@Sendable (any EventLoop) -> any Resolver & Sendable)?
    package var connection = ConnectionSettings(role: .client)
    /// Makes who gets the messages on the event loop, once the connection is open; nil: tasks take them.
    package var inline: (@Sendable () -> any InlineHandler)?

    package init(url: WebSocketURL) { self.url = url }

    /// With the cookies that go along to this URL, and to no other that a redirect leads to.
    var withCookies: ClientOptions {
        var options = self
        cookies?.jar.add(to: &options.headers, for: url, at: TrustGate.now)
        return options
    }

    /// Takes in what the server has set, whatever else it answered.
    func keepCookies(of response: ResponseHead) { cookies?.take(response.headers, from: url, at: TrustGate.now) }

    /// What the socket itself is connected to.
    enum Destination {
        case host(String, Int)
        case socket(path: String)
    }

    var destination: Destination {
        if let path = url.socketPath { return .socket(path: path) }
        return proxy.map { .host($0.host, $0.port) } ?? .host(url.host, url.port)
    }

    /// Whether the bytes of the socket are those of the WebSocket, with no TLS around them.
    var isPlain: Bool { !url.isSecure && proxy?.kind != .https }
}

/// What one connection obeys after the handshake; the same for both roles.
package struct ConnectionSettings: Sendable {
    /// Which end we are.
    package var role: Role
    /// The largest frame, message and number of fragments taken.
    package var limits = MessageLimits()
    /// Whether messages are handed over whole or in pieces.
    package var delivery = Delivery.messages
    /// How to compress; nil: not at all.
    package var compression: CompressionOptions?
    /// Bytes of received messages that may wait for the app.
    package var receiveBuffer = 256 * 1024
    /// Bytes of messages that may wait for the socket.
    package var sendBuffer = 64 * 1024
    /// How long the close handshake may take.
    package var closeTimeout: Duration = .seconds(10)
    /// Silence after which a ping is sent; nil: never.
    package var pingInterval: Duration? = .seconds(20)
    /// What asks in place of a ping; nil: a ping does.
    package var pingMessage: PingMessage?
    /// How long a pong may take.
    package var pingTimeout: Duration = .seconds(10)
    /// How long the peer may take nothing of what we send; nil: for ever.
    package var stallTimeout: Duration? = .seconds(30)

    /// The defaults for a role.
    package init(role: Role) { self.role = role }
}
