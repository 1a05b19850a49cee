public import CodecCore
public import Holdfast
public import Logging
public import WAMPCore
import WebSocketCore

/// What can be chosen about a ``WAMPClient``; the defaults suit an app.
public struct WAMPOptions: Sendable {
    /// What the client calls itself.
    public var agent = "holdfast"
    /// How long joining may take from the opening of a connection.
    public var joinPatience = Duration.seconds(10)
    /// How long the router's answers to SUBSCRIBE, UNSUBSCRIBE, REGISTER and UNREGISTER may take.
    public var answerPatience = Duration.seconds(10)
    /// How long the router's answer to GOODBYE may take; the connection ends then.
    public var goodbyePatience = Duration.seconds(2)
    /// How long subscribing and registering may wait for the session; nil: not at all.
    public var requestPatience: Duration? = .seconds(10)
    /// How many requests may wait for the session, or for their answer, at once.
    public var maximumWaiting = 65536
    /// How many invocations of a procedure may run at once; more are refused with `wamp.error.unavailable`.
    public var maximumInvocations = 1024
    /// How deep and how long a message of the router may be.
    public var limits = CodecLimits.standard
    /// What becomes of an error that a handler throws and that is no ``WAMPFailure``.
    ///
    /// By default the caller learns that the procedure failed, and not why: what an error says may not be meant for it.
    public var failure: @Sendable (any Error) -> WAMPFailure = { _ in WAMPFailure(WAMPURI.Error.runtimeError, ["the procedure failed"]) }
    /// What hears of the session, and at the level `debug` of every message, in words.
    ///
    /// By default it is the socket's: `WebSocketOptions.logger`. Signatures and tickets are never logged.
    public var logger: Logger {
        get { ownLogger ?? Logger(label: "holdfast.wamp") { _ in SwiftLogNoOpLogHandler() } }
        set { ownLogger = newValue }
    }
    /// The one that the app has chosen, or the socket's.
    private var ownLogger: Logger?
    /// Whether the log shows what messages carry, up to 2000 characters: for development; by default it does not.
    ///
    /// What proves an identity is `<hidden>` then, too, and so is what names such as `password` announce, as in
    /// `WebSocketOptions.logsPayloads`, which shows the bytes of the same messages.
    public var logsPayloads = false

    /// The defaults.
    public init() {}

    /// What a socket for WAMP offers, and when it connects again.
    ///
    /// - Parameters:
    ///   - options: The socket's.
    ///   - serializations: How messages may be written, the best first.
    public static func prepare(
        _ options: inout WebSocketOptions, _ serializations: [WAMPSerialization] = [.messagePack, .cbor, .json]
    ) {
        options.connection.subprotocols = serializations.map(\.subprotocol)
        // A ticket is in a message: an origin that is led to must not get it.
        options.connection.redirectsStayInOrigin = true
        // A router that goes away says goodbye, and then closes in peace: that is no wish of the app's.
        options.reconnect.losses[.closed(.normal)] = .retry
        // Crossbar listens before it knows its paths: for a moment after its start there is nothing at any of them.
        options.reconnect.losses[.refused(status: 404)] = .retry
    }

    /// The same, with the socket's logger if the app has chosen none for WAMP.
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
