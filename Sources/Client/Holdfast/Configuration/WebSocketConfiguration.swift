import Foundation
import MachineCore
package import WebSocketApple
public import WebSocketCore
public import WebSocketRuntime

#if SwiftNIO
    public import NIOCore
    package import WebSocketNIO
#endif

/// The options of a connection; the defaults suit an app.
public struct WebSocketConfiguration: Sendable {
    /// More fields for the upgrade request, such as `Authorization` or `Origin`.
    public var headers: HeaderFields = [:]
    /// The subprotocols offered, in order of preference.
    ///
    /// One may carry a token, for servers that were made for browsers: see ``publicSubprotocols``.
    public var subprotocols: [String] = []
    /// Whether a connection fails if the server picks none of ``subprotocols``; the default is false.
    ///
    /// The error is ``TransportError/Code/noSubprotocol``, after which the socket does not reconnect.
    public var requiresSubprotocol = false
    /// The subprotocols that are not secret; by default the well-known names.
    ///
    /// If a redirect leaves the origin (scheme, host and port), only these ``subprotocols`` are sent along. Add your own names here:
    /// Holdfast has to assume that any other name contains a token.
    public var publicSubprotocols = WebSocketConfiguration.wellKnownSubprotocols
    /// The compression of messages (RFC 7692), if the server agrees; nil: no compression.
    public var compression: CompressionOptions? = CompressionOptions()
    /// The resource limits of the connection.
    public var limits = WebSocketLimits()
    /// The timeouts of the connection.
    public var timeouts = WebSocketTimeouts()
    /// The message that the heartbeat sends instead of a ping, for servers that answer no pings; nil: a ping.
    ///
    /// It is sent after ``WebSocketTimeouts/pingInterval`` of silence, and any byte within ``WebSocketTimeouts/ping`` counts as the answer.
    /// Keep it short: a message of 16 KiB or more is never sent. If messages are delivered in pieces, or to an `InlineHandler`, the
    /// consumer also gets the answers, and their round-trip time is not measured.
    public var pingMessage: PingMessage?
    /// The HTTP version of the upgrade; the default is HTTP/1.1.
    ///
    /// HTTP/2 requires a build with the package trait HTTP2. Without it, ``HTTPVersion/http2`` fails with
    /// ``TransportError/Code/invalidConfiguration``, and ``HTTPVersion/automatic`` uses HTTP/1.1.
    ///
    /// With HTTP/2 (RFC 8441), WebSockets to one origin with equal TLS options and proxy share a TCP connection, which ends with the last
    /// of them. That saves handshakes, and saves sockets on the server. But the first WebSocket opens one round trip later, because the
    /// server's settings have to arrive first, and a lost packet delays all WebSockets on the connection. `.automatic` uses HTTP/2 over TLS
    /// if the server supports it, and otherwise HTTP/1.1, which it then remembers for ten minutes.
    public var httpVersion = HTTPVersion.http1
    /// How to verify a `wss` server.
    public var tls = TLSOptions()
    /// The proxy; the default is none.
    public var proxy = ProxyChoice.direct
    /// How to verify a proxy that speaks TLS (``Proxy/Kind/https``).
    public var proxyTLS = TLSOptions()
    /// Whether and how far to follow redirects; the default is never.
    ///
    /// If a redirect leaves the origin (scheme, host and port), the request keeps only these of the ``headers``: `Origin`, `User-Agent` and
    /// `Accept-Language`. It keeps only the ``publicSubprotocols``, and drops the credential of a `WebSocket`.
    public var redirects = RedirectPolicy.never
    /// Whether redirects that leave the origin are an error, whatever ``redirects`` says.
    ///
    /// For protocols that send a credential in their messages: unlike a header field, it cannot be dropped at the redirect.
    package var redirectsStayInOrigin = false
    /// The store of the cookies to send, which also keeps the cookies that the server sets; nil: no cookies.
    ///
    /// Cookies follow the rules of ``CookieJar``, also after a redirect. If ``headers`` has a `Cookie` field with a name, the store's cookie
    /// of that name is not sent.
    public var cookies: CookieStore?
    /// Whether messages are delivered whole, or in pieces as they arrive.
    ///
    /// Only one consumer may read messages in pieces: two consumers would each get some of the pieces.
    public var delivery = Delivery.messages
    #if SwiftNIO
        /// The event loops of the connections; nil: those that the whole process shares.
        ///
        /// Groups of NIOTransportServices (Network.framework, the default on Apple platforms) and of NIOPosix (elsewhere) work;
        /// others fail with ``TransportError/Code/invalidConfiguration``. The owner of the group shuts it down, after the last
        /// connection has ended.
        public var eventLoopGroup: (any EventLoopGroup)?
    #endif

    /// Creates the default configuration.
    public init() {}

    /// Ends a connection without a subprotocol if one is required.
    ///
    /// A server may pick none (RFC 6455 §4.2.2), so this is no fault in the handshake.
    func check(_ agreement: Agreement, aborting transport: some MessageTransport) throws(TransportError) {
        guard requiresSubprotocol, agreement.subprotocol == nil else { return }
        transport.abort()
        throw TransportError(.noSubprotocol, "the server picked none of the subprotocols offered")
    }

    /// The names of well-known subprotocols: those of this package, and others that are widely used.
    ///
    /// Most are in IANA's registry of WebSocket subprotocol names.
    public static let wellKnownSubprotocols: Set<String> = Secrecy.publicSubprotocols
}

/// The resource limits of one connection; all in bytes unless said otherwise.
public struct WebSocketLimits: Hashable, Sendable {
    /// The maximum size of a received message: all fragments together, after decompression.
    ///
    /// A larger one ends the connection with 1009, and the error names this limit. A `WebSocket` reconnects after that unless
    /// `LossTable` says otherwise.
    public var message = 1 << 20
    /// The maximum size of a received frame on the wire; nil: a quarter more than a message, because incompressible data grows.
    public var frame: Int?
    /// The maximum number of fragments of one message.
    public var fragments = 65_536
    /// The maximum size of the head of the handshake, request or response.
    public var head = 16 * 1024
    /// The number of bytes kept from the body of a refused upgrade.
    public var refusalBody = 4096
    /// The maximum amount of received data that the app has not taken before the connection stops reading.
    ///
    /// The consumer of messages may hold another 32 KiB. While reading is paused, pings of the peer get no pongs; a close resumes
    /// reading.
    public var receiveBuffer = 256 * 1024
    /// The amount of data waiting to be written at which `send` begins to wait.
    public var sendBuffer = 64 * 1024

    /// Creates the default limits.
    public init() {}

    package var messageLimits: MessageLimits {
        let (most, isTooMuch) = message.addingReportingOverflow(message / 4 + 64)
        return MessageLimits(frame: frame ?? (isTooMuch ? .max : most), message: message, fragments: fragments)
    }
}

/// The timeouts of one connection.
public struct WebSocketTimeouts: Hashable, Sendable {
    /// For DNS resolution and the TCP connection, to the proxy if there is one.
    public var connect: Duration = .seconds(10)
    /// For TLS and the upgrade, counted from the TCP connection; a proxy has the same time before that to open the tunnel.
    public var handshake: Duration = .seconds(10)
    /// For the peer's answer to our close frame.
    public var close: Duration = .seconds(10)
    /// For a pong, counted from the moment the ping was sent.
    public var ping: Duration = .seconds(10)
    /// The silence after which the heartbeat sends a ping; nil: never, so a dead connection may go unnoticed for long.
    public var pingInterval: Duration? = .seconds(20)
    /// For a peer that accepts none of the data we send.
    public var stall: Duration = .seconds(30)

    /// Creates the default timeouts.
    public init() {}
}

/// Which proxy opens the TCP connections.
public enum ProxyChoice: Hashable, Sendable {
    /// No proxy.
    case direct
    /// This proxy, for every server; a URL of a Unix domain socket is then an error.
    case through(Proxy)
    /// The proxy that environment variables name for the server, if any; see `ProxyEnvironment`.
    case environment(ProxyEnvironment)

    /// The proxy settings in the environment of this process now.
    public static var environment: ProxyChoice { .environment(ProxyEnvironment(ProcessInfo.processInfo.environment)) }

    /// Returns the proxy for a URL; nil: none.
    func proxy(for url: WebSocketURL) throws(WebSocketError) -> Proxy? {
        switch self {
        case .direct: return nil
        case .through(let proxy): return proxy
        case .environment(let environment):
            do throws(URLProblem) {
                return try environment.proxy(for: url)
            } catch {
                throw WebSocketError(TransportError(.invalidConfiguration, "the proxy cannot be used: \(error)", underlying: error))
            }
        }
    }
}

#if SwiftNIO
    extension ConnectionSettings {
        /// Creates the settings that the configurations of clients and servers have in common.
        package init(
            role: Role, limits: WebSocketLimits, timeouts: WebSocketTimeouts, compression: CompressionOptions?, delivery: Delivery
        ) {
            self.init(role: role)
            self.limits = limits.messageLimits
            self.delivery = delivery
            self.compression = compression
            receiveBuffer = limits.receiveBuffer
            sendBuffer = limits.sendBuffer
            closeTimeout = timeouts.close
            pingInterval = timeouts.pingInterval
            pingTimeout = timeouts.ping
            stallTimeout = timeouts.stall
        }
    }

    extension ClientOptions {
        /// Creates the options; throws `invalidURL`, or `invalidConfiguration` for a proxy that cannot be used.
        package init(_ url: String, _ configuration: WebSocketConfiguration) throws(WebSocketError) {
            do throws(URLProblem) {
                self.init(url: try WebSocketURL(url))
            } catch {
                throw WebSocketError(TransportError(.invalidURL, error.description, underlying: error))
            }
            headers = configuration.headers
            subprotocols = configuration.subprotocols
            httpVersion = configuration.httpVersion
            headLimit = configuration.limits.head
            refusalBodyLimit = configuration.limits.refusalBody
            connectTimeout = configuration.timeouts.connect
            handshakeTimeout = configuration.timeouts.handshake
            tls = configuration.tls
            (proxy, proxyTLS) = (try configuration.proxy.proxy(for: self.url), configuration.proxyTLS)
            proxyAfterRedirect = { [choice = configuration.proxy] url throws(TransportError) in
                do throws(WebSocketError) { return try choice.proxy(for: url) } catch { throw error.transport }
            }
            (redirects, publicSubprotocols) = (configuration.redirects, subprotocols.filter(configuration.publicSubprotocols.contains))
            if configuration.redirectsStayInOrigin { redirects.staysInOrigin = true }
            cookies = configuration.cookies
            connection = ConnectionSettings(
                role: .client, limits: configuration.limits, timeouts: configuration.timeouts, compression: configuration.compression,
                delivery: configuration.delivery)
            group = configuration.eventLoopGroup
            connection.pingMessage = configuration.pingMessage
        }

        /// The secrets in the request, which a server or a proxy may repeat in its answer.
        var secrets: KnownSecrets {
            let cookies = cookies?.jar.cookies.map(\.value) ?? []
            return KnownSecrets(KnownSecrets.carried(by: url, headers, subprotocols, proxy) + cookies)
        }
    }
#endif

extension SystemSettings {
    /// Creates the settings of a connection over the system's WebSocket.
    package init(_ configuration: WebSocketConfiguration) {
        self.init()
        messageLimit = configuration.limits.message
        receiveBuffer = configuration.limits.receiveBuffer
        sendBuffer = configuration.limits.sendBuffer
        delivery = configuration.delivery
        pingMessage = configuration.pingMessage
        openTimeout = configuration.timeouts.connect + configuration.timeouts.handshake
        closeTimeout = configuration.timeouts.close
        pingInterval = configuration.timeouts.pingInterval
        pingTimeout = configuration.timeouts.ping
        stallTimeout = configuration.timeouts.stall
    }
}

extension SystemRequest {
    /// Creates the request for the system's WebSocket.
    ///
    /// - Throws: `invalidURL`; `invalidConfiguration` for headers that cannot be sent, certificate authorities that cannot be read, and
    ///   options that the system does not support.
    package init(_ url: String, _ configuration: WebSocketConfiguration) throws(TransportError) {
        let parsed: WebSocketURL
        do throws(URLProblem) { parsed = try WebSocketURL(url) } catch {
            throw TransportError(.invalidURL, error.description, underlying: error)
        }
        try Self.check(configuration, parsed)
        var headers = configuration.headers
        do throws(HandshakeFailure) {
            var random = SystemRandomNumberGenerator()
            _ = try ClientHandshake(url: parsed, subprotocols: configuration.subprotocols, headers: headers, using: &random)
        } catch {
            throw TransportError(.invalidConfiguration, "\(error)", underlying: error)
        }
        if !configuration.subprotocols.isEmpty {
            headers.add("Sec-WebSocket-Protocol", configuration.subprotocols.joined(separator: ", "))
        }
        let trust = try SystemTrust(
            configuration.tls, host: parsed.host, place: "\(parsed)", path: "URLSession", supporting: SystemTrust.ofURLSession)
        self.init(url: parsed.string, headers: headers, messageLimit: configuration.limits.message, trust: trust)
    }

    private static func check(_ configuration: WebSocketConfiguration, _ url: WebSocketURL) throws(TransportError) {
        if !url.isSecure { try configuration.tls.checkPlain(host: url.host) }
        let proxy: Proxy?
        do throws(WebSocketError) { proxy = try configuration.proxy.proxy(for: url) } catch { throw error.transport }
        let missing = [
            "WebSocketConfiguration.proxy": proxy != nil, "WebSocketConfiguration.cookies": configuration.cookies != nil,
            "WebSocketConfiguration.redirects": configuration.redirects.limit > 0,
            "WebSocketConfiguration.httpVersion": configuration.httpVersion == .http2, "a Unix domain socket": url.socketPath != nil,
        ]
        .filter(\.value).keys.sorted()
        guard missing.isEmpty else {
            throw TransportError(.invalidConfiguration, "URLSession cannot honour \(missing.joined(separator: ", "))")
        }
    }
}
