public import Foundation
package import Logging
import MachineCore
public import SessionCore
public import WebSocketCore

/// The WebSocket that survives: it outlives its connections.
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
/// It connects when it is made and connects again whenever that may help, after a delay that grows and is drawn by chance
/// (see `ReconnectPolicy`; `LossTable` says what may help). ``disconnect(code:reason:)`` and ``connect()`` close and open it again, and all
/// who follow it stay attached. It ends when ``close(code:reason:)`` is called, when the peer closes with
/// 1000, when trying again cannot help (a bad URL, a status such as 403), or when the last reference to it is gone.
public final class WebSocket: Sendable {
    let session: LiveSession
    let hub: EventHub
    let codec: any MessageCodec
    /// What the options gave to hear of it.
    package let logger: Logger
    private let run: Task<Void, Never>
    /// Longer than any process lives: the system's clocks end the process over a moment that they cannot represent.
    private static let longestSleep = Duration.seconds(1 << 32)

    /// Starts to connect.
    ///
    /// - Parameters:
    ///   - url: `ws://host:port/path?query` or `wss://…`; a bad one, be it an alternative, is told by
    ///     ``WebSocketEvent/closed(_:)`` at once.
    ///   - configure: Changes what is to be other than the defaults.
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

    /// Starts to connect by other means: in a test over memory, or over a transport of your own.
    ///
    /// - Parameters:
    ///   - options: What the session obeys; what concerns a single connection is left to `connect`.
    ///   - seed: Where the jitter starts; by default another for each.
    ///   - clock: What the delays are measured with.
    ///   - connect: Opens one connection; called again for each attempt, and twice at once only while one connection takes over
    ///     from another.
    public init<C: Clock>(
        _ options: WebSocketOptions = WebSocketOptions(), seed: UInt64 = .random(in: .min ... .max), clock: C,
        connect: @escaping @Sendable (WebSocketAttempt) async throws(WebSocketError) -> WebSocketConnection
    ) where C.Duration == Duration {
        let instruments = Instruments(options, clock: clock)
        let live = LiveSession(
            connect: connect, provider: options.credentials?.answer, losses: options.reconnect.losses, sending: options.sending,
            instruments: instruments
        ) { try await clock.sleep(for: min($0, Self.longestSleep)) }
        let session = Session(
            policy: options.policy, endpoints: 1 + options.alternatives.count, hasCredentials: options.credentials != nil, seed: seed)
        (self.session, hub, codec) = (live, EventHub(live, requestLimit: options.requestLimit), options.codec)
        logger = options.logger
        // SAFETY: owned by this object and cancelled with it.
        run = Task {
            async let _ = live.follow(options.pathSource)
            async let _ = live.follow(options.lifeSource)
            await live.run(session, clock: clock)
        }
    }

    /// Starts to connect; otherwise as ``init(_:_:)-(String,_)``.
    public convenience init(_ url: URL, _ configure: (inout WebSocketOptions) -> Void = { _ in }) {
        self.init(url.absoluteString, configure)
    }

    deinit { run.cancel() }

    /// What it is doing now.
    public var state: WebSocketState { session.latest.state }

    /// Whether there is a connection now.
    public var isConnected: Bool { state.isConnected }

    /// What it is doing, from now on, for any number of consumers; the sequence keeps the socket alive.
    public var states: StateSequence<WebSocketState> {
        StateSequence(session.changes) { [self] in
            let (state, version) = session.latest
            return if case .closed = state { (state, version, true) } else { (state, version, false) }
        }
    }

    /// Says that the app came or went.
    ///
    /// What follows is in `BackgroundPolicy`: by default the connection is closed with 1001 a moment after the app left the foreground,
    /// and another one is opened at once when it is back.
    public func tell(_ life: AppLife.Input) async { await session.note(.life(life)) }

    /// Says that the network changed.
    ///
    /// A connection is then asked at once whether it lives. Without a network nothing is tried; when it is back, the wait is cut short.
    public func tell(_ path: PathWatch.Input) async { await session.note(.path(path)) }

    /// Connects again after ``disconnect(code:reason:)``, or after a loss while ``WebSocketOptions/reconnects`` is false.
    ///
    /// A socket connects by itself when it is made; while it is connected, or tries to be, this changes nothing. Attempts are at least
    /// `ReconnectPolicy.spacing` apart, and a server's `Retry-After` is heeded.
    public func connect() async { await session.note(.start) }

    /// Closes the connection and stays disconnected until ``connect()`` or ``reconnectNow()``; waits for the close handshake.
    ///
    /// It is not the end: consumers of events, messages and streams stay attached, and what waits to be sent waits on, as
    /// ``WebSocketOptions/sending`` says. Once closed for good this changes nothing.
    /// It is done to its end, also in a task that is cancelled.
    public func disconnect(code: CloseCode = .normal, reason: String = "") async {
        // SAFETY: ends with the close handshake, which has a deadline.
        await Task { [session] in await session.disconnect(code: code, reason: reason) }.value
    }

    /// Tries now instead of when the wait is over: for a button that people press.
    ///
    /// Attempts stay `ReconnectPolicy.spacing` apart, and a server's `Retry-After` is heeded. While there is a connection, it is asked at once
    /// whether it lives. After ``disconnect(code:reason:)`` this connects. While the app is in the background, or the device has no
    /// network, nothing is tried.
    public func reconnectNow() async { await session.note(.reconnectNow) }

    /// Closes one connection, and opens another after the pause at the earliest; whoever reads it asks for that.
    package func reconnect(_ connection: WebSocketConnection, after pause: Duration, code: CloseCode, reason: String) async {
        await session.replace(connection, after: pause, code, reason)
    }

    /// The protocol over a connection says that it serves it.
    package func noteReady(_ connection: WebSocketConnection) async { await session.judge(connection, isReady: true) }

    /// Closes a connection that the protocol over it gives up.
    ///
    /// Another follows after the backoff, in which this one counts as a failure.
    package func reject(_ connection: WebSocketConnection, code: CloseCode, reason: String) async {
        await session.judge(connection, isReady: false)
        await session.replace(connection, after: .zero, code, reason)
    }

    /// A protocol begins or ends to run over the socket.
    package func countProtocol(_ change: Int) { session.protocols.withLockedValue { $0 += change } }

    /// Closes for good, with a close handshake if there is a connection.
    ///
    /// Calling again is harmless. It is done to its end, also in a task that is cancelled.
    public func close(code: CloseCode = .normal, reason: String = "") async {
        // SAFETY: ends with the close handshake, which has a deadline.
        await Task { [session] in await session.close(code: code, reason: reason) }.value
    }
}
