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
}
