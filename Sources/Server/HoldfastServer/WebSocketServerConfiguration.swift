public import Metrics
public import Holdfast

/// The configuration of a server; the defaults suit development and small services.
public struct WebSocketServerConfiguration: Sendable {
    /// The address to listen on; the loopback address by default.
    public var host = "127.0.0.1"
    /// The port to listen on; 0 for any free one, see ``RunningServer/port``.
    public var port = 0
    /// The path of a Unix domain socket to listen on instead, at most 103 bytes; nil for none.
    ///
    /// A socket that an earlier server left there is replaced. A socket on which a server listens, or any other file, is an error. The
    /// socket is removed when the server ends.
    public var unixSocket: String?
    /// The permission bits of that socket, such as `0o660`; nil for the default of the process's umask.
    ///
    /// Clients need write permission to connect. Not all systems check it; the permissions of the directory apply everywhere.
    public var unixSocketPermissions: UInt16?
    /// The certificate and key for `wss`; nil for `ws`.
    public var tls: ServerTLSOptions?
    /// Which pages may open WebSockets; by default those on the server's own host, if that is an address or a name of this machine.
    ///
    /// A request from a page of another origin is refused with 403. A request without an `Origin` does not come from a page and is allowed.
    public var origins = OriginPolicy()
    /// The HTTP versions that clients may use.
    ///
    /// `.automatic` allows both: over TLS, clients choose by ALPN; without TLS, clients that begin with the HTTP/2 preface get HTTP/2
    /// ("prior knowledge"). WebSockets over HTTP/2 follow RFC 8441.
    public var httpVersion = HTTPVersion.http1
    /// The limits of one HTTP/2 connection, in addition to those of its WebSockets.
    public var http2 = HTTP2Limits()
    /// How to compress messages (RFC 7692) if the client offers it; nil for no compression.
    public var compression: CompressionOptions? = CompressionOptions()
    /// The limits of one connection.
    public var limits = WebSocketLimits()
    /// The time limits of a connection; `handshake` counts from the TCP connection on, including TLS.
    ///
    /// `connect` has no effect here, and ``slowConsumers`` replaces `stall`.
    public var timeouts = WebSocketTimeouts()
    /// How many unsent bytes of a connection the system may hold, at least about 4096; nil for the system's default.
    ///
    /// A small number keeps the data for slow clients fresh: the rest waits in `limits.sendBuffer`, and after that at the sender, who can
    /// still change it. It has no effect on a Unix domain socket, and on systems without such a limit (`TCP_NOTSENT_LOWAT`).
    public var unsentLimit: Int?
    /// Whether messages are delivered complete, or in pieces as they arrive.
    public var delivery = Delivery.messages
    /// Where handlers run.
    public var handlers = HandlerPlacement.eventLoop
    /// What happens to clients that read too slowly.
    public var slowConsumers = SlowConsumerPolicy.disconnect(after: .seconds(30))
    /// The maximum number of open connections, including those in the handshake; further ones are answered with 503.
    ///
    /// Over HTTP/2 each TCP connection, and each request or WebSocket on it, counts as one. Over HTTP/1.1 the number is also limited by the
    /// files that the process may have open (`ulimit -n`) when the server starts; some of those are reserved for other uses.
    public var maximumConnections = 10_000
    /// The maximum number of connections per address, including those in the handshake; nil for no limit.
    ///
    /// Further ones are closed without an answer. For IPv6, the first 64 bits count. Clients of a Unix domain socket have no address;
    /// behind a proxy, all clients share one. Of the files that the process may have open, one address leaves 1,024 to others, or half if
    /// there are fewer than 2,048.
    public var maximumConnectionsPerAddress: Int?
    /// How long connections may take to end after a graceful shutdown has begun.
    public var shutdownGrace: Duration = .seconds(10)
    /// The metrics factory; nil for the one with which `MetricsSystem` was bootstrapped when the server is run.
    ///
    /// It receives handshakes, connections and traffic. The labels have few values, whatever clients send.
    public var metrics: (any MetricsFactory)?

    /// Creates the default configuration.
    public init() {}
}

/// The limits of one HTTP/2 connection.
///
/// A client that resets 200 streams within half a minute, or sends as many control frames, is always dropped.
public struct HTTP2Limits: Hashable, Sendable {
    /// Whether clients are told that they may open WebSockets over HTTP/2; if not, they use HTTP/1.1.
    public var offersWebSockets = true
    /// The maximum number of simultaneous requests and WebSockets.
    ///
    /// A further one is refused, and may be retried on another connection.
    public var maximumStreams = 100
    /// How long the connection may be open without any request or WebSocket.
    public var idleTimeout: Duration = .seconds(60)

    /// Creates the default limits.
    public init() {}
}

/// What happens to clients that read too slowly.
public enum SlowConsumerPolicy: Hashable, Sendable {
    /// `send` waits without a limit.
    case wait
    /// `send` waits; a client that takes nothing for this long is dropped, and `send` throws `TransportError.Code.stalled`.
    case disconnect(after: Duration)
}

/// A server's identity for TLS.
public struct ServerTLSOptions: Hashable, Sendable {
    /// The PEM file with the certificate and the intermediate certificates.
    public var certificateChainFile: String
    /// The PEM file with the certificate's private key.
    public var privateKeyFile: String

    /// The oldest TLS version accepted; TLS 1.2 by default.
    public var minimumVersion: TLSOptions.Version

    /// Creates options.
    public init(certificateChainFile: String, privateKeyFile: String, minimumVersion: TLSOptions.Version = .tls12) {
        (self.certificateChainFile, self.privateKeyFile) = (certificateChainFile, privateKeyFile)
        self.minimumVersion = minimumVersion
    }
}

/// Where the handlers of connections run, if they are tasks.
public enum HandlerPlacement: Hashable, Sendable {
    /// Each handler runs on the event loop of its connection: a message causes no thread switch.
    ///
    /// There is one event loop per processor, so handlers still run in parallel. A handler that computes for a long time delays the other
    /// connections of its event loop, and a handler that blocks stops them. Child tasks of a handler, with `async let` or a task group, run
    /// on the pool.
    case eventLoop
    /// Handlers run on Swift's shared thread pool; for handlers that compute for a long time.
    case pool
}
