import Foundation
import MachineCore
public import WebSocketCore
public import WebSocketRuntime

#if SwiftNIO
    public import NIOCore
#endif

/// Everything about a connection that can be chosen; the defaults suit an app.
public struct WebSocketConfiguration: Sendable {
    /// More fields for the upgrade request, such as `Authorization` or `Origin`.
    public var headers: HeaderFields = [:]
    /// The subprotocols offered, in order of preference.
    ///
    /// One may carry a token, as servers take it that were made for browsers: see ``publicSubprotocols``.
    public var subprotocols: [String] = []
    /// The subprotocols that are no secret; at first well-known names.
    ///
    /// Of ``subprotocols`` these alone go along where a redirect leaves the origin (scheme, host and port). Add your own: of any other name
    /// nobody but you knows that it holds no token.
    public var publicSubprotocols = WebSocketConfiguration.wellKnownSubprotocols
    /// How to compress messages (RFC 7692), if the server agrees; nil: not at all.
    public var compression: CompressionOptions? = CompressionOptions()
    /// What the connection may cost.
    public var limits = WebSocketLimits()
    /// How long it waits.
    public var timeouts = WebSocketTimeouts()
    /// What asks in place of a ping whether the server lives, for servers that answer no pings; nil: a ping does.
    ///
    /// It is asked after ``WebSocketTimeouts/pingInterval``, and any byte within ``WebSocketTimeouts/ping`` answers it. Keep it short: one
    /// of 16 KiB or more is never sent. Where messages come in pieces, or to an `InlineHandler`, the answers come, too, and are not
    /// measured.
    public var pingMessage: PingMessage?
    /// Which HTTP the connection begins with; by default HTTP/1.1.
    ///
    /// HTTP/2 is in builds with the package's trait HTTP2; without it, ``HTTPVersion/http2`` is ``TransportError/Code/invalidConfiguration``,
    /// and ``HTTPVersion/automatic`` takes HTTP/1.1.
    ///
    /// With HTTP/2 (RFC 8441), WebSockets to one origin with equal TLS options and proxy share a TCP connection, which ends with the last
    /// of them. That spares handshakes, and servers spare sockets; but the first WebSocket opens one round trip later, for the server's
    /// settings have to come first, and a lost packet delays all that share. `.automatic` takes HTTP/2 over TLS where the server has it,
    /// and otherwise HTTP/1.1, which it then remembers for ten minutes.
    public var httpVersion = HTTPVersion.http1
    /// How a `wss` server is checked.
    public var tls = TLSOptions()
    /// Who opens the TCP connection on our behalf; by default nobody.
    public var proxy = ProxyChoice.direct
    /// How a proxy is checked that speaks TLS (``Proxy/Kind/https``).
    public var proxyTLS = TLSOptions()
    /// Whether the server may send us elsewhere, and how far; by default not at all.
    ///
    /// Where a redirect leaves the origin (scheme, host and port), none of ``headers`` goes along but `Origin`, `User-Agent` and
    /// `Accept-Language`, none of ``subprotocols`` but the ``publicSubprotocols``, and no credential of a `WebSocket`.
    public var redirects = RedirectPolicy.never
    /// Whether redirects that leave the origin are an error, whatever ``redirects`` says.
    ///
    /// For protocols that show a credential in their messages: it cannot stay behind as a header field does.
    package var redirectsStayInOrigin = false
    /// Where the cookies are that go along, and are kept that the server sets with its answer; nil: there are none.
    ///
    /// They follow their own rules, those of ``CookieJar``, also where a redirect leads; a name that ``headers`` has in a `Cookie` field is
    /// not taken from there.
    public var cookies: CookieStore?
    /// Whether messages are handed over whole, or in pieces as they arrive.
    ///
    /// In pieces, for one consumer at a time: two would take each other's.
    public var delivery = Delivery.messages
    #if SwiftNIO
        /// The event loops that connections live on; nil: those that the whole process shares.
        ///
        /// Any that open connections: of NIOTransportServices (Network.framework, the default on Apple platforms) or of NIOPosix (elsewhere);
        /// others are an error, ``TransportError/Code/invalidConfiguration``. Whoever gives them shuts them down, and not before the last
        /// connection has ended.
        public var eventLoopGroup: (any EventLoopGroup)?
    #endif

    /// The defaults.
    public init() {}

    /// Names of subprotocols that everybody knows: those of this package, and of others that are in wide use.
    ///
    /// Most are in IANA's registry of WebSocket subprotocol names.
    public static let wellKnownSubprotocols: Set<String> = Secrecy.publicSubprotocols
}

/// What one connection may cost at most; all in bytes unless said otherwise.
public struct WebSocketLimits: Hashable, Sendable {
    /// The largest message taken, all fragments together and after inflating.
    ///
    /// A larger one ends the connection with 1009, and the error names this limit. A `WebSocket` connects again after that unless
    /// `LossTable` says otherwise.
    public var message = 1 << 20
    /// The largest frame taken, as it is on the wire; nil: a quarter more than a message, for
    /// what does not compress grows when compressed.
    public var frame: Int?
    /// The largest number of fragments of one message.
    public var fragments = 65_536
    /// The largest head of the handshake, request or response.
    public var head = 16 * 1024
    /// How much of the body of a refused upgrade is kept.
    public var refusalBody = 4096
    /// How much may be received and not yet taken by the app before reading stops.
    ///
    /// Whoever takes messages may hold another 32 KiB at hand. While reading is stopped the peer's pings wait for their pongs too; closing
    /// reads on.
    public var receiveBuffer = 256 * 1024
    /// How much may be handed over for sending before `send` waits.
    public var sendBuffer = 64 * 1024

    /// The defaults.
    public init() {}

    package var messageLimits: MessageLimits {
        let (most, isTooMuch) = message.addingReportingOverflow(message / 4 + 64)
        return MessageLimits(frame: frame ?? (isTooMuch ? .max : most), message: message, fragments: fragments)
    }
}

/// How long one connection waits for what.
public struct WebSocketTimeouts: Hashable, Sendable {
    /// For the name to resolve and TCP to connect, to the proxy if there is one.
    public var connect: Duration = .seconds(10)
    /// For TLS and the upgrade, from the TCP connection on; before that, a proxy has the same time to open the way.
    public var handshake: Duration = .seconds(10)
    /// For the peer to answer our close frame.
    public var close: Duration = .seconds(10)
    /// For a pong, from the moment the ping left.
    public var ping: Duration = .seconds(10)
    /// Silence after which a ping is sent by itself; nil: never, so that a dead link may go unnoticed for long.
    public var pingInterval: Duration? = .seconds(20)
    /// For a peer that takes nothing of what we send.
    public var stall: Duration = .seconds(30)

    /// The defaults.
    public init() {}
}

/// Who opens TCP connections on our behalf.
public enum ProxyChoice: Hashable, Sendable {
    /// Nobody.
    case direct
    /// This proxy, for every server; a URL of a Unix domain socket is then an error.
    case through(Proxy)
    /// The one that environment variables name for the server, if any; see `ProxyEnvironment`.
    case environment(ProxyEnvironment)

    /// What this process's environment says now.
    public static var environment: ProxyChoice { .environment(ProxyEnvironment(ProcessInfo.processInfo.environment)) }

    /// The proxy for a URL; nil: none.
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
