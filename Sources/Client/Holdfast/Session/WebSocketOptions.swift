public import Logging
public import Metrics
public import SessionCore
public import Tracing
public import WebSocketCore
import WebSocketRuntime

/// Everything about a ``WebSocket`` that can be chosen; the defaults suit an app.
public struct WebSocketOptions: Sendable {
    /// What every connection obeys.
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
    /// More URLs of the same service: after a failure the next one is tried.
    public var alternatives: [String] = []
    /// When to connect again, and when to give up; with the table of what is worth another attempt.
    public var reconnect: ReconnectPolicy {
        get { policy.reconnect }
        set { policy.reconnect = newValue }
    }
    /// Whether it connects again by itself after a loss; by default it does.
    ///
    /// If not, a loss that may pass leads to ``WebSocketState/disconnected(_:)``, and ``WebSocket/connect()`` tries again. What cannot pass
    /// is the end in any case.
    public var reconnects: Bool {
        get { policy.reconnect.isAutomatic }
        set { policy.reconnect.isAutomatic = newValue }
    }
    /// Who gives a fresh credential before every attempt; nil: none is needed.
    public var credentials: CredentialProvider?
    /// When the provider is asked ahead of an expiry, and how long it may take.
    public var credentialPolicy: CredentialPolicy {
        get { policy.credentials }
        set { policy.credentials = newValue }
    }
    /// What to do while the app is in the background; see ``WebSocket/tell(_:)-(AppLife.Input)``.
    public var background: BackgroundPolicy {
        get { policy.background }
        set { policy.background = newValue }
    }
    /// What to do about news of the network; see ``WebSocket/tell(_:)-(PathWatch.Input)``.
    public var path: PathPolicy {
        get { policy.path }
        set { policy.path = newValue }
    }
    /// How long a connection may be silent before it is asked whether it lives: fixed, or adaptive for devices that pay for every ping.
    ///
    /// How long an answer may take is in ``WebSocketTimeouts/ping``; what asks is a ping or ``WebSocketConfiguration/pingMessage``.
    public var heartbeat: HeartbeatPolicy {
        get { policy.heartbeat }
        set { policy.heartbeat = newValue }
    }
    /// Who tells what happens to the network; nil: only the app does.
    ///
    /// If a URL leads to this device itself (`localhost`, 127.0.0.0/8 or `::1`), what the source says never holds attempts back.
    public var pathSource: (any PathSource)?
    /// Who tells that the app comes and goes, such as `AppLifecycle` on Apple platforms; nil: only the app does.
    public var lifeSource: (any LifeSource)?
    /// What becomes of messages that cannot go out at once; by default their senders wait for a connection, for half a minute.
    public var sending: SendPolicy {
        get { policy.sending }
        set { policy.sending = newValue }
    }
    /// What makes messages of values, and values of messages.
    public var codec: any MessageCodec = JSONCodec()
    /// How many requests may wait for their answers at once; see ``WebSocket/request(_:matching:timeout:)-(Message,_,_)``.
    public var requestLimit = 1024
    /// What hears of attempts, openings and losses; silent by default.
    ///
    /// Nothing secret is ever logged, and nothing of messages unless ``logsPayloads`` says so.
    public var logger = Logger(label: "holdfast") { _ in SwiftLogNoOpLogHandler() }
    /// Whether the log shows, at the level `debug`, how messages begin: for development; by default it does not.
    ///
    /// A line says whether a message was sent or received, its kind, its length, and its first 64 bytes: text in one line with escapes,
    /// bytes in hexadecimal, of a message in pieces those of the first piece. Credentials, the passwords of proxies, cookies and what names
    /// such as `password` announce are `<hidden>`. What else is secret in your messages nobody but you knows. It costs nothing while it is
    /// off; it counts for sockets made afterwards.
    public var logsPayloads = false
    /// What counts and measures; nil: what `MetricsSystem` was bootstrapped with when the socket is made.
    public var metrics: (any MetricsFactory)?
    /// What gets a span for every attempt to connect; nil: what `InstrumentationSystem` was bootstrapped with.
    public var tracer: (any Tracer)?
    var policy = SessionPolicy()
    /// The URLs for people to read, if there are any.
    var endpointNames: [String] = []
    /// The URLs themselves, to know what is secret in them.
    var endpointURLs: [String] = []

    /// The defaults.
    public init() {}

    /// Opens one connection as an attempt asks.
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
        return try await WebSocketConnection.connect(to: url, configuration: configuration)
    }

    /// The defaults, and ``followSystem()``: for the app that people see.
    ///
    /// ```swift
    /// let socket = WebSocket("wss://example.com/feed") { $0 = .app }
    /// ```
    public static var app: WebSocketOptions {
        var options = WebSocketOptions()
        options.followSystem()
        return options
    }

    /// Follows what the system tells of the network and of the app, with ``pathSource`` and ``lifeSource``.
    ///
    /// On Apple platforms these are `NetworkPathMonitor` and `AppLifecycle`: no attempt without a network, an attempt at once when it is
    /// back, a close in the background as ``background`` says, and an attempt at once in the foreground. On Linux it is `LinuxPathSource`, and
    /// nothing tells of the app. Not for an app extension, which has no application to ask: there, set ``pathSource`` alone.
    ///
    /// It changes nothing else, so it suits `Rooms`, `QuoteFeed` and `WAMPClient`, whose options have more than the defaults.
    public mutating func followSystem() { (pathSource, lifeSource) = (SystemSources.path, SystemSources.life) }

    /// Why a URL can never be connected to, be it the first or one of the alternatives; nil if all are good.
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

    /// Whether one of the URLs leads to this device itself, which needs no network.
    func staysWithinDevice(_ url: String) -> Bool {
        ([url] + alternatives).contains { (try? WebSocketURL($0))?.isLoopback ?? false }
    }

    /// A URL without what may be secret: the query, and a user's name and password.
    static func name(_ url: String) -> String { (try? WebSocketURL(url))?.description ?? "an invalid URL" }

    /// Adds what the tracer says of the present span to a request.
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

/// What an attempt of a ``WebSocket`` to connect is to be made of.
public struct WebSocketAttempt: Sendable {
    /// The failures in a row before it, and one.
    public let number: Int
    /// Which of the endpoints to connect to, counted from 0.
    public let endpoint: Int
    /// The newest credential, if there is a provider.
    public let credential: Credential?

    /// An attempt; by default the first, without a credential.
    public init(number: Int = 1, endpoint: Int = 0, credential: Credential? = nil) {
        (self.number, self.endpoint, self.credential) = (number, endpoint, credential)
    }
}
