public import Foundation
package import Logging
package import MachineCore
public import SessionCore
public import WebSocketCore

/// A WebSocket that reconnects after a lost connection.
///
/// ```swift
/// let socket = WebSocket("wss://example.com/feed") { options in
///     options.credentials = .bearer { Credential(try await tokens.fresh()) }
/// }
/// for await event in socket.events {
///     if case .message(let message) = event { show(message) }
/// }
/// ```
///
/// It connects as soon as it is created, unless ``WebSocketOptions/connectsAtOnce`` is false. It reconnects whenever that may help, after a
/// delay that grows and has random jitter (see `ReconnectPolicy`; `LossTable` says when a reconnect may help).
/// ``disconnect(code:reason:)`` and ``connect()`` close and open the connection, and all consumers stay attached. The socket ends when you
/// call ``close(code:reason:)``, when the peer closes with 1000, when a retry cannot help (a bad URL, a status such as 403), or when the
/// last reference to it is gone.
public final class WebSocket: Sendable {
    let session: LiveSession
    let hub: EventHub
    let codec: any MessageCodec
    /// The logger from the options.
    package let logger: Logger
    private let task: Task<Void, Never>
    /// A limit for sleeps, longer than any process runs: the system's clocks trap on a time that they cannot represent.
    private static let longestSleep = Duration.seconds(1 << 32)

    /// Creates the socket and starts to connect.
    ///
    /// - Parameters:
    ///   - url: `ws://host:port/path?query` or `wss://…`. If it or an alternative is invalid,
    ///     ``WebSocketEvent/closed(_:)`` reports it at once.
    ///   - configure: Changes the default options.
    public convenience init(_ url: String, _ configure: (inout WebSocketOptions) -> Void = { _ in }) {
        var options = WebSocketOptions()
        configure(&options)
        if options.staysWithinDevice(url) { options.pathSource = options.pathSource.map(LocalPathSource.init) }
        let problem = options.problem(with: url)
        options.endpointURLs = [url] + options.alternatives
        options.endpointNames = options.endpointURLs.map(WebSocketOptions.name)
        self.init(options, clock: ContinuousClock()) { [options] (attempt) async throws(WebSocketError) in
            if let problem { throw problem }
            return try await options.connect(attempt, to: url)
        }
    }

    /// Creates the socket and starts to connect through your own function: in memory for a test, or over your own transport.
    ///
    /// - Parameters:
    ///   - options: The options of the session; `connect` has to apply those of a single connection.
    ///   - seed: The seed of the random jitter; by default a different one for each socket.
    ///   - clock: The clock for all delays.
    ///   - connect: Opens one connection. It is called for each attempt. Two calls run at the same time only while a new connection takes
    ///     over from the present one.
    public init<C: Clock>(
        _ options: WebSocketOptions = WebSocketOptions(), seed: UInt64 = .random(in: .min ... .max), clock: C,
        connect: @escaping @Sendable (WebSocketAttempt) async throws(WebSocketError) -> WebSocketConnection
    ) where C.Duration == Duration {
        let instruments = Instruments(options, clock: clock)
        let live = LiveSession(
            connect: connect, connectsAtOnce: options.connectsAtOnce, provider: options.credentials?.answer,
            losses: options.reconnect.losses, sending: options.sending, instruments: instruments
        ) { try await clock.sleep(for: min($0, Self.longestSleep)) }
        let session = Session(
            policy: options.policy, endpoints: 1 + options.alternatives.count, hasCredentials: options.credentials != nil, seed: seed)
        (self.session, hub, codec) = (live, EventHub(live, requestLimit: options.requestLimit), options.codec)
        logger = options.logger
        // SAFETY: owned by this object and cancelled with it.
        task = Task {
            async let _ = live.follow(options.pathSource)
            async let _ = live.follow(options.lifeSource)
            await live.run(session, clock: clock)
        }
    }

    /// Creates the socket and starts to connect; otherwise as ``init(_:_:)-(String,_)``.
    public convenience init(_ url: URL, _ configure: (inout WebSocketOptions) -> Void = { _ in }) {
        self.init(url.absoluteString, configure)
    }

    deinit { task.cancel() }

    /// The present state.
    public var state: WebSocketState { session.latest.state }

    /// When the next attempt starts, counted from the start of the session; nil unless the socket waits for that.
    package var nextAttempt: Moment? { session.nextAttempt }

    /// Whether there is a connection now.
    public var isConnected: Bool { state.isConnected }

    /// The states from now on, for any number of consumers; the sequence keeps the socket alive.
    public var states: StateSequence<WebSocketState> {
        StateSequence(session.changes) { [self] in
            let (state, version) = session.latest
            return if case .closed = state { (state, version, true) } else { (state, version, false) }
        }
    }

    /// Tells the socket that the app went to the background or came back.
    ///
    /// `BackgroundPolicy` decides what follows. By default the connection is closed with 1001 a moment after the app left the foreground,
    /// and a new one is opened at once when the app is back.
    public func notify(_ life: AppLife.Input) async { await session.note(.life(life)) }

    /// Tells the socket that the network changed.
    ///
    /// The socket then checks the connection at once with a ping. Without a network it makes no attempts; when the network is back, it
    /// connects without waiting for the rest of the delay.
    public func notify(_ path: PathWatch.Input) async { await session.note(.path(path)) }

    /// Connects again after ``disconnect(code:reason:)``, or after a loss while ``WebSocketOptions/reconnects`` is false.
    ///
    /// A new socket connects by itself. While it is connected or connecting, this does nothing. Attempts are at least
    /// `ReconnectPolicy.spacing` apart, and the socket respects a server's `Retry-After`.
    public func connect() async { await session.note(.start) }

    /// Closes the connection and stays disconnected until ``connect()`` or ``reconnectNow()``; waits for the close handshake.
    ///
    /// This does not end the socket: consumers of events, messages and streams stay attached, and queued messages keep waiting as
    /// ``WebSocketOptions/sending`` says. On a closed socket it does nothing.
    /// It runs to its end even if the task is cancelled.
    public func disconnect(code: CloseCode = .normal, reason: String = "") async {
        // SAFETY: ends with the close handshake, which has a deadline.
        await Task { [session] in await session.disconnect(code: code, reason: reason) }.value
    }

    /// Connects now instead of after the delay, for example when the user presses a button.
    ///
    /// Attempts stay `ReconnectPolicy.spacing` apart, and the socket respects a server's `Retry-After`. If there is a connection, the socket
    /// checks it at once with a ping. After ``disconnect(code:reason:)`` this connects. While the app is in the background, or the device has
    /// no network, it makes no attempt.
    public func reconnectNow() async { await session.note(.reconnectNow) }

    /// Closes one connection and opens another one after the pause at the earliest; called by the protocol over the connection.
    package func reconnect(_ connection: WebSocketConnection, after pause: Duration, code: CloseCode, reason: String) async {
        await session.replace(connection, after: pause, code, reason)
    }

    /// Records that the protocol over a connection is ready.
    package func noteReady(_ connection: WebSocketConnection) async { await session.judge(connection, isReady: true) }

    /// Closes a connection that the protocol over it rejects.
    ///
    /// The socket reconnects after the backoff, which counts this connection as a failure.
    package func reject(_ connection: WebSocketConnection, code: CloseCode, reason: String) async {
        await session.judge(connection, isReady: false)
        await session.replace(connection, after: .zero, code, reason)
    }

    /// Changes the number of protocols that run over the socket.
    package func countProtocol(_ change: Int) { session.protocols.withLockedValue { $0 += change } }

    /// Closes for good, with a close handshake if there is a connection.
    ///
    /// Calling it again is harmless. It runs to its end even if the task is cancelled.
    public func close(code: CloseCode = .normal, reason: String = "") async {
        // SAFETY: ends with the close handshake, which has a deadline.
        await Task { [session] in await session.close(code: code, reason: reason) }.value
    }

    /// Runs in the calling task until the socket is closed for good, and closes it when the task is cancelled.
    ///
    /// A socket connects by itself, with or without this. Call it to tie the socket's life to a task, for instance in a `Service` of
    /// swift-service-lifecycle, whose `run()` has the same signature. In a `ServiceGroup`, wrap the call in
    /// `cancelWhenGracefulShutdown`. A cancelled task closes with 1001 (going away), and this returns after the close handshake.
    ///
    /// - Throws: The error that ended the socket. It throws nothing if this side closed it, or the peer did with 1000.
    public func run() async throws(WebSocketError) {
        guard case .closed(let error) = await states.last() else { return await close(code: .goingAway) }
        if let error { throw error }
    }
}

/// The state of a ``WebSocket``.
public enum WebSocketState: Sendable {
    /// Not started yet, disconnected by the app, or lost while ``WebSocketOptions/reconnects`` is false; only a loss has an error.
    ///
    /// The socket makes no attempt until ``WebSocket/connect()``.
    case disconnected(WebSocketError?)
    /// An attempt is in progress; the number counts from 1 since the last stable connection.
    case connecting(attempt: Int)
    /// There is a connection.
    case connected(since: ContinuousClock.Instant)
    /// The next attempt starts at this time.
    case waiting(until: ContinuousClock.Instant, cause: WebSocketError?)
    /// The app is in the background, or there is no network; the socket makes no attempt until that changes.
    case held
    /// The app has asked to close the socket.
    case closing
    /// Closed for good; the error is nil if this side closed, or the peer closed with 1000.
    case closed(WebSocketError?)

    /// Whether there is a connection.
    public var isConnected: Bool { if case .connected = self { true } else { false } }

    /// Creates the state for a phase; nil for `stopped`, because the session reports the end itself with its reason.
    init?(_ phase: Reconnector.Phase, at now: Moment, cause: WebSocketError?) {
        switch phase {
        case .idle: self = .disconnected(cause)
        case .connecting(let attempt): self = .connecting(attempt: attempt.number)
        case .connected(_, let since), .handingOver(_, let since, _): self = .connected(since: .now + (since - now))
        case .waiting(let until, _): self = .waiting(until: .now + (until - now), cause: cause)
        case .held: self = .held
        case .stopped: return nil
        }
    }
}
