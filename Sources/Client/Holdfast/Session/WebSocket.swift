public import SessionCore
public import WebSocketCore
import WebSocketRuntime

/// The WebSocket that survives: it outlives its connections.
///
/// ```swift
/// let socket = WebSocket("wss://example.com/feed")
/// for await event in socket.events {
///     if case .message(let message) = event { show(message) }
/// }
/// ```
///
/// It connects when it is made and connects again whenever that may help, after a delay that grows and is drawn by chance
/// (see `ReconnectPolicy`). It ends when ``close(code:reason:)`` is called, when the peer closes with 1000, when trying again
/// cannot help (a bad URL, a status such as 403), or when the last reference to it is gone.
public final class WebSocket: Sendable {
    let session: Session
    private let run: Task<Void, Never>

    /// Starts to connect.
    ///
    /// - Parameters:
    ///   - url: `ws://host:port/path?query` or `wss://…`; a bad one is told by ``WebSocketEvent/closed(_:)``.
    ///   - configuration: What every connection obeys.
    ///   - reconnect: When to connect again, and when to give up.
    public convenience init(
        _ url: String, configuration: WebSocketConfiguration = WebSocketConfiguration(), reconnect: ReconnectPolicy = ReconnectPolicy()
    ) {
        self.init(reconnect: reconnect, clock: ContinuousClock()) { () async throws(WebSocketError) in
            try await WebSocketConnection.connect(to: url, configuration: configuration)
        }
    }

    /// Starts to connect by other means: in a test over memory, or over a transport of your own.
    ///
    /// - Parameters:
    ///   - reconnect: When to connect again, and when to give up.
    ///   - seed: Where the jitter starts; by default another for each.
    ///   - clock: What the delays are measured with.
    ///   - connect: Opens one connection; called again for each attempt, never twice at once.
    public init<C: Clock>(
        reconnect: ReconnectPolicy = ReconnectPolicy(), seed: UInt64 = .random(in: .min ... .max), clock: C,
        connect: @escaping @Sendable () async throws(WebSocketError) -> WebSocketConnection
    ) where C.Duration == Duration {
        let session = Session(connect: connect) { try await clock.sleep(for: $0) }
        self.session = session
        // SAFETY: owned by this object and cancelled with it.
        run = Task { await session.run(Reconnector(policy: reconnect, seed: seed), clock: clock) }
    }

    deinit { run.cancel() }

    /// What happens, in order, ending after ``WebSocketEvent/closed(_:)``; for one consumer.
    ///
    /// Messages of a connection come before the news of its loss. Nothing is read ahead beyond
    /// ``WebSocketLimits/receiveBuffer``; a consumer that stays away for eight losses also stops the reconnecting.
    ///
    /// The sequence keeps the socket alive.
    public var events: WebSocketEvents { WebSocketEvents(socket: self) }

    /// Sends a message on the present connection; waits for one while there is none.
    ///
    /// - Parameters:
    ///   - message: What to send.
    ///   - timeout: How long to wait for a connection.
    /// - Throws: ``WebSocketError``; ``TransportError/Code/timedOut`` if there was none in time, ``TransportError/Code/closed``
    ///   once the socket is closed. What was accepted and not yet written when a connection is lost is not sent again.
    public func send(_ message: Message, timeout: Duration = .seconds(30)) async throws(WebSocketError) {
        try await session.connection(within: timeout).send(message)
    }

    /// Closes for good, with a close handshake if there is a connection.
    ///
    /// Calling again is harmless.
    public func close(code: CloseCode = .normal, reason: String = "") async {
        await session.close(code: code, reason: reason)
    }
}
