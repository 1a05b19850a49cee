public import Logging
public import Metrics
public import SessionCore
public import Tracing
public import WebSocketCore
import WebSocketRuntime

/// The options of a ``WebSocket``; the defaults suit an app.
public struct WebSocketOptions: Sendable {
    /// The options of every connection.
    public var connection = WebSocketConfiguration()
    /// More fields for the upgrade request, such as `Authorization` or `Origin`: ``WebSocketConfiguration/headers``.
    public var headers: HeaderFields {
        get { connection.headers }
        set { connection.headers = newValue }
    }
    /// The subprotocols offered, in order of preference: ``WebSocketConfiguration/subprotocols``.
    public var subprotocols: [String] {
        get { connection.subprotocols }
        set { connection.subprotocols = newValue }
    }
    /// More URLs of the same service; after a failure the socket tries the next one.
    public var alternatives: [String] = []
    /// When to reconnect and when to give up, including the table of losses that are worth another attempt.
    public var reconnect: ReconnectPolicy {
        get { policy.reconnect }
        set { policy.reconnect = newValue }
    }
    /// Whether the socket reconnects by itself after a loss; the default is true.
    ///
    /// If false, a temporary loss leads to ``WebSocketState/disconnected(_:)``, and ``WebSocket/connect()`` tries again. A permanent failure
    /// ends the socket in any case.
    public var reconnects: Bool {
        get { policy.reconnect.isAutomatic }
        set { policy.reconnect.isAutomatic = newValue }
    }
    /// Whether a new socket connects by itself; the default is true.
    ///
    /// If false, it waits for ``WebSocket/connect()``.
    public var connectsAtOnce = true
    /// The provider of a fresh credential for every attempt; nil if none is needed.
    public var credentials: CredentialProvider?
    /// When to ask the provider before a credential expires, and how long it may take.
    public var credentialPolicy: CredentialPolicy {
        get { policy.credentials }
        set { policy.credentials = newValue }
    }
    /// What to do while the app is in the background; see ``WebSocket/notify(_:)-(AppLife.Input)``.
    public var background: BackgroundPolicy {
        get { policy.background }
        set { policy.background = newValue }
    }
    /// What to do when the network changes; see ``WebSocket/notify(_:)-(PathWatch.Input)``.
    public var path: PathPolicy {
        get { policy.path }
        set { policy.path = newValue }
    }
    /// How long a connection may be silent before the heartbeat checks it: fixed, or adaptive for devices that pay for every ping.
    ///
    /// ``WebSocketTimeouts/ping`` limits the wait for an answer. The heartbeat sends a ping or ``WebSocketConfiguration/pingMessage``.
    public var heartbeat: HeartbeatPolicy {
        get { policy.heartbeat }
        set { policy.heartbeat = newValue }
    }
    /// The source of network changes; nil: only the app reports them.
    ///
    /// If a URL leads to this device itself (`localhost`, 127.0.0.0/8 or `::1`), the source never holds attempts back.
    public var pathSource: (any PathSource)?
    /// The source of the app's state, such as `AppLifecycle` on Apple platforms; nil: only the app reports it.
    public var lifeSource: (any LifeSource)?
    /// What happens to messages that cannot be sent at once; by default their senders wait for a connection, for half a minute.
    public var sending: SendPolicy {
        get { policy.sending }
        set { policy.sending = newValue }
    }
    /// The codec that encodes values as messages and decodes messages into values.
    public var codec: any MessageCodec = JSONCodec()
    /// The maximum number of pending requests; see ``WebSocket/request(_:matching:timeout:)-(Message,_,_)``.
    public var requestLimit = 1024
    /// The logger for attempts, openings and losses; silent by default.
    ///
    /// The socket never logs secrets, and logs message contents only if ``logsPayloads`` is true.
    public var logger = Logger(label: "holdfast") { _ in SwiftLogNoOpLogHandler() }
    /// Whether the log shows, at the level `debug`, the beginning of each message, for development; the default is false.
    ///
    /// A line shows whether a message was sent or received, its kind, its length, and its first 64 bytes: text in one line with escapes,
    /// binary data in hexadecimal. For a message in pieces it shows the bytes of the first piece. Credentials, proxy passwords, cookies and
    /// values with names such as `password` are replaced by `<hidden>`. The log cannot recognize other secrets in your messages. The option
    /// costs nothing while it is off. A change applies to sockets that are created afterwards.
    public var logsPayloads = false
    /// The metrics factory; nil: the one that `MetricsSystem` was bootstrapped with when the socket is created.
    public var metrics: (any MetricsFactory)?
    /// The tracer that gets a span for every connection attempt; nil: the one that `InstrumentationSystem` was bootstrapped with.
    public var tracer: (any Tracer)?
    /// Opens one connection; a protocol may use another way to its server.
    package var openConnection: @Sendable (String, WebSocketConfiguration) async throws(WebSocketError) -> WebSocketConnection = {
        (url, configuration) async throws(WebSocketError) in try await WebSocketConnection.connect(to: url, configuration: configuration)
    }
    var policy = SessionPolicy()
    /// The URLs in readable form without secrets, if there are any.
    var endpointNames: [String] = []
    /// The full URLs, used to find the secrets in them.
    var endpointURLs: [String] = []

    /// Creates the default options.
    public init() {}

    /// Opens one connection for an attempt.
    func connect(_ attempt: WebSocketAttempt, to url: String) async throws(WebSocketError) -> WebSocketConnection {
        var (url, configuration) = (attempt.endpoint == 0 ? url : alternatives[attempt.endpoint - 1], connection)
        if let credential = attempt.credential, let placement = credential.placement ?? credentials?.placement {
            do throws(HandshakeFailure) {
                try placement.place(
                    credential.secret, url: &url, headers: &configuration.headers, subprotocols: &configuration.subprotocols)
            } catch {
                throw WebSocketError(TransportError(.invalidConfiguration, error.detail, underlying: error))
            }
        }
        trace(into: &configuration.headers)
        return try await openConnection(url, configuration)
    }

    /// The default options with ``followSystem()``, for an app with a user interface.
    ///
    /// ```swift
    /// let socket = WebSocket("wss://example.com/feed") { $0 = .app }
    /// ```
    public static var app: WebSocketOptions {
        var options = WebSocketOptions()
        options.followSystem()
        return options
    }

    /// Sets ``pathSource`` and ``lifeSource`` so that the socket follows the system's network and app state.
    ///
    /// On Apple platforms these are `NetworkPathMonitor` and `AppLifecycle`: no attempt without a network, an attempt at once when it is
    /// back, a close in the background as ``background`` says, and an attempt at once in the foreground. On Linux it is `LinuxPathSource`, and
    /// there is no source of the app's state. An app extension cannot use this, because it has no application object; set only
    /// ``pathSource`` there.
    ///
    /// It changes nothing else, so you can call it on the options of `Rooms`, `QuoteFeed` and `WAMPClient`, which have other defaults.
    public mutating func followSystem() { (pathSource, lifeSource) = (SystemSources.path, SystemSources.life) }

    /// Returns the error if the URL or one of the alternatives is invalid; nil if all are valid.
    func problem(with url: String) -> WebSocketError? {
        for (index, string) in ([url] + alternatives).enumerated() {
            do throws(URLProblem) {
                _ = try WebSocketURL(string)
            } catch {
                let place = index == 0 ? "" : "alternatives[\(index - 1)]: "
                return WebSocketError(TransportError(.invalidURL, place + error.description, underlying: error))
            }
        }
        return nil
    }

    /// Returns whether one of the URLs leads to this device itself, which needs no network.
    func staysWithinDevice(_ url: String) -> Bool {
        ([url] + alternatives).contains { (try? WebSocketURL($0))?.isLoopback ?? false }
    }

    /// Returns a URL without the parts that may be secret: the query, the user name and the password.
    static func name(_ url: String) -> String { (try? WebSocketURL(url))?.description ?? "an invalid URL" }

    /// Adds the tracing context of the present span to a request.
    func trace(into headers: inout HeaderFields) {
        guard let context = InstrumentationContext.current else { return }
        if let tracer {
            tracer.inject(context, into: &headers, using: HeaderInjector())
        } else {
            InstrumentationSystem.instrument.inject(context, into: &headers, using: HeaderInjector())
        }
    }
}

extension WebSocketURL {
    /// Whether the host is this device: RFC 6761 §6.3, RFC 1122 §3.2.1.3, RFC 4291 §2.5.3.
    var isLoopback: Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}

/// One attempt of a ``WebSocket`` to connect.
public struct WebSocketAttempt: Sendable {
    /// The number of the attempt: one more than the failures in a row before it.
    public let number: Int
    /// The index of the endpoint to connect to, counted from 0.
    public let endpoint: Int
    /// The newest credential, if there is a provider.
    public let credential: Credential?

    /// Creates an attempt; by default the first, without a credential.
    public init(number: Int = 1, endpoint: Int = 0, credential: Credential? = nil) {
        (self.number, self.endpoint, self.credential) = (number, endpoint, credential)
    }
}
