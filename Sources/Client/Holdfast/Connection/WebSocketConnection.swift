public import Foundation
public import WebSocketCore
public import WebSocketRuntime

#if SwiftNIO
    import WebSocketNIO
#endif

/// One open WebSocket, from handshake to close.
///
/// All members may be used from any task at any time. Messages of different senders are never
/// mixed, and leave in the order in which they were accepted. When the last copy is released the
/// link is dropped; ``withConnection(to:configuration:_:)-(String,_,_)`` closes it properly.
public struct WebSocketConnection: Sendable {
    package let transport: any MessageTransport
    private let pingTimeout: Duration
    /// Shared by all loops, so that one that is left in the middle of a message loses nothing.
    let joiner = LockedValue(MessageJoiner())

    /// A connection over any transport.
    ///
    /// - Parameters:
    ///   - transport: What carries the messages.
    ///   - pingTimeout: How long ``ping(timeout:)`` waits unless told.
    public init(_ transport: any MessageTransport, pingTimeout: Duration = WebSocketTimeouts().ping) {
        (self.transport, self.pingTimeout) = (transport, pingTimeout)
    }

    /// The same over another transport, which stands before this one's.
    func over(_ transport: any MessageTransport) -> WebSocketConnection { WebSocketConnection(transport, pingTimeout: pingTimeout) }

    /// The subprotocol agreed on, if any.
    public var subprotocol: String? { transport.agreement.subprotocol }
    /// The extensions agreed on, as the server wrote them.
    public var extensions: [String] { transport.agreement.extensions }
    /// How messages are compressed; nil if they are not.
    public var compression: DeflateParameters? { transport.agreement.deflate }
    /// The server's answer to the upgrade.
    public var response: ResponseHead { transport.agreement.response }
    /// Both close codes and who closed first; nil while the connection is open.
    public var closeRecord: CloseRecord? { transport.closeRecord }

    /// Whether it is open: neither side has begun to close, as far as is known here.
    public var isConnected: Bool { closeRecord == nil }

    /// What the peer sends, whole messages in order.
    ///
    /// Ends when both sides have parted in peace (1000, 1001, no code, or this side closed first), and throws
    /// ``WebSocketError`` otherwise. Leaving the loop, or cancelling its task, loses nothing and does not
    /// end the connection; a later loop goes on. One loop at a time: what one has at hand another does not see until the first
    /// is left. Reading stops while the app does not keep up, see ``WebSocketLimits/receiveBuffer``.
    public var messages: WebSocketMessages { WebSocketMessages(connection: self) }

    /// The message that `received` is or completes; nil if there is more to come.
    func whole(_ received: Received) -> Message? {
        if case .message(let message) = received { return message }
        return joiner.withLockedValue { $0.join(received) }
    }

    /// What the peer sends, as many messages at once as have come.
    ///
    /// For fast streams of small messages: whoever looks at the bytes of each message only, see ``MessageBatch/forEach(_:)``,
    /// saves what it costs to make a ``Message`` of it. Leaving the loop loses nothing but what the batch at hand still holds.
    public var batches: WebSocketBatches { WebSocketBatches(connection: self) }

    /// What the peer sends, in pieces as they arrive.
    ///
    /// With ``WebSocketConfiguration/delivery`` set to `.chunks`, no message is ever held whole. Otherwise each
    /// message is one piece.
    public var chunks: WebSocketChunks { WebSocketChunks(transport: transport) }

    /// Sends a message; waits while ``WebSocketLimits/sendBuffer`` is full.
    ///
    /// Returns when the message is accepted in order; it is on the wire as soon as the socket takes it. Throws
    /// ``TransportError/Code/cancelled`` if the task was cancelled while waiting: then nothing of it was or will be sent.
    @inlinable
    public func send(_ message: Message) async throws(WebSocketError) {
        if !accepts(message) { try await waitToSend(message) }
    }

    /// Whether the message could be accepted at once; if not, waiting tells why.
    @usableFromInline
    func accepts(_ message: Message) -> Bool { (try? transport.offer(message)) == true }

    @usableFromInline
    func waitToSend(_ message: Message) async throws(WebSocketError) {
        do throws(TransportError) { try await transport.send(message) } catch { throw WebSocketError(error) }
    }

    /// Sends a message unless that would mean to wait; false if the send buffer is full.
    public func offer(_ message: Message) throws(WebSocketError) -> Bool {
        do throws(TransportError) { return try transport.offer(message) } catch { throw WebSocketError(error) }
    }

    /// Sends one message in pieces, so that it is never held whole.
    ///
    /// Other messages wait until it is complete; pings and pongs pass. If `pieces` throws, or the task is
    /// cancelled half-way, the message can never be completed: the connection is closed with 1011.
    ///
    /// - Throws: ``WebSocketError``, or what `pieces` throws.
    public func send<Pieces: AsyncSequence>(_ kind: MessageKind, pieces: Pieces) async throws where Pieces.Element == [UInt8] {
        let ticket = try await WebSocketError.wrap { () async throws(TransportError) in try await transport.beginMessage() }
        do {
            for try await piece in pieces {
                try await transport.send(MessageChunk(kind: kind, bytes: piece, isLast: false), of: ticket)
            }
            try await transport.send(MessageChunk(kind: kind, bytes: [], isLast: true), of: ticket)
        } catch {
            transport.abandon(ticket)
            throw (error as? TransportError).map(WebSocketError.init) ?? error
        }
    }

    /// Sends a ping and waits for its pong; returns the round trip time.
    ///
    /// - Parameter timeout: How long to wait once the ping has left; nil: ``WebSocketTimeouts/ping``.
    /// - Throws: ``TransportError/Code/timedOut``; the connection lives on.
    public func ping(timeout: Duration? = nil) async throws(WebSocketError) -> Duration {
        try await WebSocketError.wrap { () async throws(TransportError) in try await transport.ping(timeout: timeout ?? pingTimeout) }
    }

    /// Closes: what was accepted for sending leaves first, then the close frame; waits for the peer's.
    ///
    /// Returns when the outcome is known, at the latest after ``WebSocketTimeouts/close``. Calling again is harmless.
    /// If the task is cancelled the link is dropped at once. A code that this side
    /// may not send (RFC 6455 §7.4) is replaced by 1000.
    ///
    /// - Parameters:
    ///   - code: Why; the peer gets it.
    ///   - reason: For logs; cut to 123 bytes of UTF-8.
    @discardableResult
    public func close(code: CloseCode = .normal, reason: String = "") async -> CloseRecord {
        await transport.close(CloseFrame(code.maySend(as: transport.role) ? code : .normal, reason: reason))
    }

    /// Drops the link at once, without a close handshake; what still waits is lost.
    public func abort() { transport.abort() }

    /// Runs `body` on the connection's event loop.
    ///
    /// A loop over ``messages`` that runs there gets each message in the turn in which it came, without a change of threads.
    /// What runs there must not block, for other connections share the event loop. A connection without an event loop, such
    /// as one in memory, runs `body` where it is called.
    public func onEventLoop<Result: Sendable>(
        _ body: @Sendable (WebSocketConnection) async throws -> Result
    ) async rethrows -> Result {
        #if SwiftNIO
            if let channel = transport.carrier as? WebSocketChannel { return try await channel.loop.run { try await body(self) } }
        #endif
        return try await body(self)
    }

    /// Connects and shakes hands.
    ///
    /// For code that cannot be scoped; otherwise prefer ``withConnection(to:configuration:_:)-(String,_,_)``. In a build without the
    /// package's trait SwiftNIO, Apple platforms connect through `URLSession`, as `connectOverURLSession(to:configuration:)` tells, and
    /// others cannot connect: ``TransportError/Code/invalidConfiguration``.
    ///
    /// - Parameters:
    ///   - url: `ws://host:port/path?query` or `wss://…`.
    ///   - configuration: What the connection obeys.
    /// - Throws: ``WebSocketError``: a bad URL, no route, a timeout, a TLS failure, a refusal with its status, headers and
    ///   the first bytes of its body; ``TransportError/Code/cancelled`` at once if the task is cancelled.
    public static func connect(
        to url: String, configuration: WebSocketConfiguration = WebSocketConfiguration()
    ) async throws(WebSocketError) -> WebSocketConnection {
        #if SwiftNIO
            let options = try ClientOptions(url, configuration)
            do throws(TransportError) {
                return WebSocketConnection(try await NIOConnector.connectFollowing(options), pingTimeout: configuration.timeouts.ping)
            } catch {
                throw WebSocketError(error.hiding(options.secrets))
            }
        #elseif canImport(Darwin)
            return try await connectOverURLSession(to: url, configuration: configuration)
        #else
            throw WebSocketError(TransportError(.invalidConfiguration, "Holdfast was built without its trait SwiftNIO: it cannot connect"))
        #endif
    }

    /// Connects and shakes hands; otherwise as ``connect(to:configuration:)-(String,_)``.
    public static func connect(
        to url: URL, configuration: WebSocketConfiguration = WebSocketConfiguration()
    ) async throws(WebSocketError) -> WebSocketConnection {
        try await connect(to: url.absoluteString, configuration: configuration)
    }

    /// Connects, runs `body`, and closes whatever happens; otherwise as ``withConnection(to:configuration:_:)-(String,_,_)``.
    public static func withConnection<Result>(
        to url: URL, configuration: WebSocketConfiguration = WebSocketConfiguration(),
        _ body: (WebSocketConnection) async throws -> Result
    ) async throws -> Result {
        try await withConnection(to: url.absoluteString, configuration: configuration, body)
    }

    /// Connects, runs `body`, and closes whatever happens: it cannot leak.
    ///
    /// When `body` returns, the connection is closed with 1000; when it throws, with 1001. If the task is cancelled the
    /// link is dropped at once.
    ///
    /// - Throws: ``WebSocketError`` as ``connect(to:configuration:)-(String,_)`` does, or what `body` throws; if the task is cancelled, with
    ///   ``TransportError/Code/cancelled`` in place of how the link was lost.
    public static func withConnection<Result>(
        to url: String, configuration: WebSocketConfiguration = WebSocketConfiguration(),
        _ body: (WebSocketConnection) async throws -> Result
    ) async throws -> Result {
        let connection = try await connect(to: url, configuration: configuration)
        do {
            let result = try await withTaskCancellationHandler {
                try await body(connection)
            } onCancel: {
                connection.abort()
            }
            await connection.close()
            return result
        } catch {
            let wasCancelled = Task.isCancelled
            await connection.close(code: .goingAway)
            // A reader may see that the link was dropped before it sees that its task was cancelled.
            if wasCancelled, error is WebSocketError { throw WebSocketError(TransportError(.cancelled, "the task was cancelled")) }
            throw error
        }
    }
}

extension WebSocketError {
    static func wrap<Result>(_ body: () async throws(TransportError) -> Result) async throws(WebSocketError) -> Result {
        do throws(TransportError) { return try await body() } catch { throw WebSocketError(error) }
    }
}
