public import CodecCore
public import Holdfast
public import Logging
public import WAMPCore
import WebSocketCore

/// The options of a ``WAMPClient``; the defaults suit an app.
public struct WAMPOptions: Sendable {
    /// The name of the client software, sent to the router.
    public var agent = "holdfast"
    /// The timeout for joining, from the opening of a connection.
    public var joinPatience = Duration.seconds(10)
    /// The timeout for the router's answers to SUBSCRIBE, UNSUBSCRIBE, REGISTER and UNREGISTER.
    public var answerPatience = Duration.seconds(10)
    /// The timeout for the router's answer to GOODBYE, after which the connection is ended.
    public var goodbyePatience = Duration.seconds(2)
    /// How long subscribing and registering wait for the session; nil does not wait.
    public var requestPatience: Duration? = .seconds(10)
    /// The maximum number of requests that wait for the session or for their answer at the same time.
    public var maximumWaiting = 65536
    /// The maximum number of concurrent invocations of a procedure; more are refused with `wamp.error.unavailable`.
    public var maximumInvocations = 1024
    /// The maximum depth and length of a message from the router.
    public var limits = CodecLimits.standard
    /// Converts an error that a handler throws and that is no ``WAMPFailure``.
    ///
    /// By default the caller learns only that the procedure failed, because the text of an error may not be meant for the caller.
    public var failure: @Sendable (any Error) -> WAMPFailure = { _ in WAMPFailure(WAMPURI.Error.runtimeError, ["the procedure failed"]) }
    /// The logger for the session, and at level `debug` for every message.
    ///
    /// The default is the socket's logger, `WebSocketOptions.logger`. Signatures and tickets are never logged.
    public var logger: Logger {
        get { ownLogger ?? Logger(label: "holdfast.wamp") { _ in SwiftLogNoOpLogHandler() } }
        set { ownLogger = newValue }
    }
    /// The logger that the app has set, or the socket's.
    private var ownLogger: Logger?
    /// Whether the log shows the payloads of messages, up to 2000 characters; meant for development, and off by default.
    ///
    /// Authentication data are logged as `<hidden>` even then, and so are values of fields with names such as `password`. The same
    /// applies to `WebSocketOptions.logsPayloads`, which shows the bytes of the same messages.
    public var logsPayloads = false

    /// Creates the default options.
    public init() {}

    /// Prepares the options of a socket for WAMP: its subprotocols, and when it reconnects.
    ///
    /// - Parameters:
    ///   - options: The socket's options.
    ///   - serializations: The serializations to offer, in order of preference.
    public static func prepare(
        _ options: inout WebSocketOptions, _ serializations: [WAMPSerialization] = [.messagePack, .cbor, .json]
    ) {
        options.connection.subprotocols = serializations.map(\.subprotocol)
        // A ticket is sent in a message, which must not go to another origin by a redirect.
        options.connection.redirectsStayInOrigin = true
        // A router that shuts down sends GOODBYE and then closes regularly, which the app has not asked for.
        options.reconnect.losses[.closed(.normal)] = .retry
        // Crossbar listens before it has set up its paths: just after its start, all of them answer 404.
        options.reconnect.losses[.refused(status: 404)] = .retry
    }

    /// Returns the options with the socket's logger, if the app has set none for WAMP.
    func hearing(_ socket: WebSocket) -> WAMPOptions {
        var options = self
        options.ownLogger = ownLogger ?? socket.logger
        return options
    }

    func policy(_ realm: String, _ authentication: WAMPAuthentication) -> ClientPolicy {
        ClientPolicy(
            realm: realm, authID: authentication.authID, authRole: authentication.authRole, authMethods: authentication.methods,
            agent: agent, joinPatience: joinPatience, answerPatience: answerPatience, goodbyePatience: goodbyePatience,
            maximumWaiting: maximumWaiting, maximumInvocations: maximumInvocations)
    }
}
