public import Metrics
public import Holdfast

/// Everything about a server that can be chosen; the defaults suit development and small services.
public struct WebSocketServerConfiguration: Sendable {
    /// The address to listen on; by default this machine only.
    public var host = "127.0.0.1"
    /// The port to listen on; 0: any free one, see ``RunningServer/port``.
    public var port = 0
    /// The path of a Unix domain socket to listen on instead, at most 103 bytes; nil: none.
    ///
    /// A socket that an earlier server left there is replaced. One that somebody listens on, and any other file, is an error. It is removed
    /// when the server ends.
    public var unixSocket: String?
    /// The permission bits of that socket, such as `0o660`; nil: what the process's umask leaves.
    ///
    /// Who may write may connect. Not all systems look at them: the permissions of its folder hold everywhere.
    public var unixSocketPermissions: UInt16?
    /// The certificate and key for `wss`; nil: `ws`.
    public var tls: ServerTLSOptions?
    /// Which pages may open WebSockets: by default those on the server's own host, called by an address or a name of this machine.
    ///
    /// A request that a page of another origin sends is refused with 403; one without an `Origin` comes from no page, and passes.
    public var origins = OriginPolicy()
    /// Which HTTP clients may speak.
    ///
    /// With `.automatic` both: over TLS they choose by ALPN, otherwise those who begin with HTTP/2's preface get that ("prior knowledge").
    /// WebSockets over HTTP/2 are those of RFC 8441.
    public var httpVersion = HTTPVersion.http1
    /// What one connection of HTTP/2 may cost, beside what its WebSockets may.
    public var http2 = HTTP2Limits()
    /// How to compress messages (RFC 7692), if the client offers it; nil: not at all.
    public var compression: CompressionOptions? = CompressionOptions()
    /// What one connection may cost.
    public var limits = WebSocketLimits()
    /// How long a connection waits; `handshake` counts from the TCP connection on, TLS included.
    ///
    /// `connect` has no meaning here, and ``slowConsumers`` takes the place of `stall`.
    public var timeouts = WebSocketTimeouts()
    /// How many bytes of a connection the system may hold that it has not sent yet, at least about 4096; nil: as many as it likes.
    ///
    /// A small number keeps what a slow client gets fresh: the rest waits in `limits.sendBuffer`, and after that with the
    /// sender, who may change his mind. Where the system has no such limit (`TCP_NOTSENT_LOWAT`), and on a Unix domain socket, it has no
    /// effect.
    public var unsentLimit: Int?
    /// Whether messages are handed over whole, or in pieces as they arrive.
    public var delivery = Delivery.messages
    /// Where handlers run.
    public var handlers = HandlerPlacement.eventLoop
    /// What becomes of clients that do not keep up with what is sent to them.
    public var slowConsumers = SlowConsumerPolicy.disconnect(after: .seconds(30))
    /// How many connections may be open at once, handshakes included; one more is answered with 503.
    ///
    /// Over HTTP/2 each TCP connection and each request or WebSocket on it counts as one. Over HTTP/1.1 there are never more than the
    /// process may have files open (`ulimit -n`) when the server starts; some of those are kept for other uses.
    public var maximumConnections = 10_000
    /// How many of them one address may have, handshakes included; nil: all.
    ///
    /// One more is closed without an answer. Of IPv6 the first 64 bits count. Clients of a Unix domain socket have no address; behind a
    /// proxy all have one. Of what the process may have open, an address leaves 1,024 to others, or half if there are fewer than 2,048.
    public var maximumConnectionsPerAddress: Int?
    /// How long connections may take to end after a graceful shutdown has begun.
    public var shutdownGrace: Duration = .seconds(10)
    /// What counts and measures; nil: what `MetricsSystem` was bootstrapped with when the server is run.
    ///
    /// Told of handshakes, connections, and what they carry; the labels have few values, whatever clients send.
    public var metrics: (any MetricsFactory)?

    /// The defaults.
    public init() {}
}

/// What one connection of HTTP/2 may cost.
///
/// A client that resets 200 streams within half a minute, or sends as many control frames, is dropped in any case.
public struct HTTP2Limits: Hashable, Sendable {
    /// Whether clients are told that WebSockets may be opened so; if not, they open them over HTTP/1.1.
    public var offersWebSockets = true
    /// How many requests and WebSockets it may have at once; one more is refused, and may be tried again elsewhere.
    public var maximumStreams = 100
    /// How long it may be open without any.
    public var idleTimeout: Duration = .seconds(60)

    /// The defaults.
    public init() {}
}

/// What becomes of clients that do not keep up with what is sent to them.
public enum SlowConsumerPolicy: Hashable, Sendable {
    /// `send` waits, however long.
    case wait
    /// `send` waits; a client that took nothing for this long is dropped, and `send` throws `TransportError.Code.stalled`.
    case disconnect(after: Duration)
}

/// A server's identity for TLS.
public struct ServerTLSOptions: Hashable, Sendable {
    /// The PEM file with the certificate, and those of the authorities between it and a root.
    public var certificateChainFile: String
    /// The PEM file with the certificate's private key.
    public var privateKeyFile: String

    /// The oldest version spoken; by default TLS 1.2.
    public var minimumVersion: TLSOptions.Version

    /// Makes options.
    public init(certificateChainFile: String, privateKeyFile: String, minimumVersion: TLSOptions.Version = .tls12) {
        (self.certificateChainFile, self.privateKeyFile) = (certificateChainFile, privateKeyFile)
        self.minimumVersion = minimumVersion
    }
}

/// Where the handlers of connections run, if they are tasks.
public enum HandlerPlacement: Hashable, Sendable {
    /// Each on the event loop of its connection: a message costs no change of threads.
    ///
    /// There is an event loop for each processor, so handlers run in parallel as they would elsewhere; but one that computes for
    /// long delays the other connections of its event loop, and one that blocks stops them. What a handler starts beside itself,
    /// with `async let` or a task group, runs on the pool.
    case eventLoop
    /// On Swift's shared pool of threads: for handlers that compute for long.
    case pool
}
