public import Foundation
public import WebSocketCore
public import WebSocketRuntime

#if SwiftNIO
    import WebSocketNIO
#endif

/// One open WebSocket connection, from the handshake to the close.
///
/// All members may be used from any task at any time. Messages of different senders are never
/// mixed, and are sent in the order in which they were accepted. The link is dropped when the last copy is
/// released; ``withConnection(to:configuration:_:)-(String,_,_)`` closes it properly.
public struct WebSocketConnection: Sendable {
    package let transport: any MessageTransport
    private let pingTimeout: Duration
    /// Joins pieces to messages; all loops share it, so a loop that ends in the middle of a message loses nothing.
    let joiner = LockedValue(MessageJoiner())

    /// Creates a connection over any transport.
    ///
    /// - Parameters:
    ///   - transport: Carries the messages.
    ///   - pingTimeout: The default timeout of ``ping(timeout:)``.
    public init(_ transport: any MessageTransport, pingTimeout: Duration = WebSocketTimeouts().ping) {
        (self.transport, self.pingTimeout) = (transport, pingTimeout)
    }

    /// Returns the same connection over another transport that wraps this one's.
    func over(_ transport: any MessageTransport) -> WebSocketConnection { WebSocketConnection(transport, pingTimeout: pingTimeout) }

    /// The subprotocol agreed on, if any.
    public var subprotocol: String? { transport.agreement.subprotocol }
    /// The extensions agreed on, as the server wrote them.
    public var extensions: [String] { transport.agreement.extensions }
    /// The parameters of the compression; nil if messages are not compressed.
    public var compression: DeflateParameters? { transport.agreement.deflate }
    /// The server's answer to the upgrade.
    public var response: ResponseHead { transport.agreement.response }
    /// The close codes of both sides and which side closed first; nil while the connection is open.
    public var closeRecord: CloseRecord? { transport.closeRecord }

    /// Whether the connection is open: as far as is known here, neither side has begun to close.
    public var isConnected: Bool { closeRecord == nil }

    /// The whole messages of the peer, in order.
    ///
    /// The sequence ends after a normal close (1000, 1001, no code, or this side closed first), and throws
    /// ``WebSocketError`` otherwise. If you leave the loop or cancel its task, nothing is lost and the connection stays
    /// open; a later loop continues. Use one loop at a time: another loop does not see the messages that the first holds, until the first
    /// ends. The connection stops reading while the app is too slow, see ``WebSocketLimits/receiveBuffer``.
    public var messages: WebSocketMessages { WebSocketMessages(connection: self) }

    /// Returns the message that `received` is or completes; nil if more pieces follow.
    func whole(_ received: Received) -> Message? {
        if case .message(let message) = received { return message }
        return joiner.withLockedValue { $0.join(received) }
    }

    /// The messages of the peer in batches: as many at a time as have arrived.
    ///
    /// For fast streams of small messages. If you only look at the bytes of each message with ``MessageBatch/forEach(_:)``,
    /// no ``Message`` is created. If you leave the loop, only the messages left in the present batch are lost.
    public var batches: WebSocketBatches { WebSocketBatches(connection: self) }

    /// The messages of the peer in pieces, as they arrive.
    ///
    /// With ``WebSocketConfiguration/delivery`` set to `.chunks`, no message is ever held whole in memory. Otherwise each
    /// message is one piece.
    public var chunks: WebSocketChunks { WebSocketChunks(transport: transport) }

    /// Sends a message; waits while ``WebSocketLimits/sendBuffer`` is full.
    ///
    /// Returns when the message has its place in the order of messages; the socket writes it as soon as it can. Throws
    /// ``TransportError/Code/cancelled`` if the task was cancelled while it waited; then no part of the message is sent.
    @inlinable
    public func send(_ message: Message) async throws(WebSocketError) {
        if !accepts(message) { try await waitToSend(message) }
    }

    /// Returns whether the message was accepted at once; if not, `waitToSend` gives the reason.
    @usableFromInline
    func accepts(_ message: Message) -> Bool { (try? transport.offer(message)) == true }

    @usableFromInline
    func waitToSend(_ message: Message) async throws(WebSocketError) {
        do throws(TransportError) { try await transport.send(message) } catch { throw WebSocketError(error) }
    }

    /// Sends a message if that is possible without waiting; returns false if the send buffer is full.
    public func offer(_ message: Message) throws(WebSocketError) -> Bool {
        do throws(TransportError) { return try transport.offer(message) } catch { throw WebSocketError(error) }
    }

    /// Sends one message in pieces, so that the whole message is never held in memory.
    ///
    /// Other messages wait until it is complete; pings and pongs do not wait. If `pieces` throws, or the task is
    /// cancelled half-way, the message can never be completed, so the connection is closed with 1011.
    ///
    /// - Throws: ``WebSocketError``, or the error of `pieces`.
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

    /// Sends a ping, waits for its pong, and returns the round-trip time.
    ///
    /// - Parameter timeout: How long to wait once the ping has been sent; nil: ``WebSocketTimeouts/ping``.
    /// - Throws: ``TransportError/Code/timedOut``, which does not end the connection.
    public func ping(timeout: Duration? = nil) async throws(WebSocketError) -> Duration {
        try await WebSocketError.wrap { () async throws(TransportError) in try await transport.ping(timeout: timeout ?? pingTimeout) }
    }

    /// Closes the connection: sends what was accepted for sending, then the close frame, and waits for the peer's.
    ///
    /// Returns when the outcome is known, at the latest after ``WebSocketTimeouts/close``. Calling it again is harmless.
    /// If the task is cancelled, the link is dropped at once. A code that this side
    /// may not send (RFC 6455 §7.4) is replaced by 1000.
    ///
    /// - Parameters:
    ///   - code: The close code, which the peer receives.
    ///   - reason: A close reason for logs; cut to 123 bytes of UTF-8.
    @discardableResult
    public func close(code: CloseCode = .normal, reason: String = "") async -> CloseRecord {
        await transport.close(CloseFrame(code.maySend(as: transport.role) ? code : .normal, reason: reason))
    }

    /// Drops the link at once, without a close handshake; data that still waits to be sent is lost.
    public func abort() { transport.abort() }

    /// Runs `body` on the connection's event loop.
    ///
    /// A loop over ``messages`` that runs there gets each message without a change of threads.
    /// Code that runs there must not block, because other connections share the event loop. A connection without an event loop, such
    /// as one in memory, runs `body` in the calling task.
    public func onEventLoop<Result: Sendable>(
        _ body: @Sendable (WebSocketConnection) async throws -> Result
    ) async rethrows -> Result {
        #if SwiftNIO
            if let channel = transport.carrier as? WebSocketChannel { return try await channel.loop.run { try await body(self) } }
        #endif
        return try await body(self)
    }

    /// An actor that runs on the connection's event loop; nil if the connection has none.
    @usableFromInline package var eventLoop: (any Actor)? {
        #if SwiftNIO
            (transport.carrier as? WebSocketChannel)?.loop
        #else
            nil
        #endif
    }

    /// Connects and performs the opening handshake.
    ///
    /// If you can, use ``withConnection(to:configuration:_:)-(String,_,_)`` instead, which closes the connection by itself. In a build
    /// without the package trait SwiftNIO, Apple platforms connect through `URLSession`, see `connectOverURLSession(to:configuration:)`.
    /// Other platforms then fail with ``TransportError/Code/invalidConfiguration``.
    ///
    /// - Parameters:
    ///   - url: `ws://host:port/path?query` or `wss://…`.
    ///   - configuration: The options of the connection.
    /// - Throws: ``WebSocketError``: a bad URL, no route, a timeout, a TLS failure, or a refusal with its status, its headers and
    ///   the first bytes of its body; ``TransportError/Code/cancelled`` at once if the task is cancelled.
    public static func connect(
        to url: String, configuration: WebSocketConfiguration = WebSocketConfiguration()
    ) async throws(WebSocketError) -> WebSocketConnection {
        #if SwiftNIO
            let options = try ClientOptions(url, configuration)
            do throws(TransportError) {
                let channel = try await NIOConnector.connectFollowing(options)
                try configuration.check(channel.agreement, aborting: channel)
                return WebSocketConnection(channel, pingTimeout: configuration.timeouts.ping)
            } catch {
                throw WebSocketError(error.hiding(options.secrets))
            }
        #elseif canImport(Darwin)
            return try await connectOverURLSession(to: url, configuration: configuration)
        #else
            throw WebSocketError(TransportError(.invalidConfiguration, "Holdfast was built without its trait SwiftNIO: it cannot connect"))
        #endif
    }

    /// Connects and performs the opening handshake; otherwise as ``connect(to:configuration:)-(String,_)``.
    public static func connect(
        to url: URL, configuration: WebSocketConfiguration = WebSocketConfiguration()
    ) async throws(WebSocketError) -> WebSocketConnection {
        try await connect(to: url.absoluteString, configuration: configuration)
    }

    /// Connects, runs `body`, and always closes; otherwise as ``withConnection(to:configuration:_:)-(String,_,_)``.
    public static func withConnection<Result>(
        to url: URL, configuration: WebSocketConfiguration = WebSocketConfiguration(),
        _ body: (WebSocketConnection) async throws -> Result
    ) async throws -> Result {
        try await withConnection(to: url.absoluteString, configuration: configuration, body)
    }

    /// Connects, runs `body`, and always closes the connection.
    ///
    /// The connection is closed with 1000 when `body` returns, and with 1001 when it throws. If the task is cancelled, the
    /// link is dropped at once.
    ///
    /// - Throws: ``WebSocketError`` as ``connect(to:configuration:)-(String,_)`` does, or the error of `body`. If the task is cancelled,
    ///   ``TransportError/Code/cancelled`` replaces the error of the dropped link.
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
            // A reader may notice the dropped link before it notices the cancellation of its task.
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

#if SwiftNIO
    /// A connection whose messages go to an ``InlineHandler`` on its event loop; other tasks use this value to reach it.
    ///
    /// The link is dropped when the last copy is released.
    public struct InlineConnection: Sendable {
        private let channel: WebSocketChannel

        /// Connects, performs the opening handshake, and attaches a handler to the connection.
        ///
        /// - Parameters:
        ///   - url: `ws://host:port/path?query` or `wss://…`.
        ///   - configuration: The options of the connection; its `delivery` has no effect here.
        ///   - inline: Creates the handler on the event loop once the connection is open.
        /// - Throws: As ``WebSocketConnection/connect(to:configuration:)-(String,_)`` does.
        public static func connect(
            to url: String, configuration: WebSocketConfiguration = WebSocketConfiguration(),
            inline: @escaping @Sendable () -> any InlineHandler
        ) async throws(WebSocketError) -> InlineConnection {
            var options = try ClientOptions(url, configuration)
            options.inline = inline
            do throws(TransportError) {
                let channel = try await NIOConnector.connectFollowing(options)
                try configuration.check(channel.agreement, aborting: channel)
                return InlineConnection(channel: channel)
            } catch {
                throw WebSocketError(error.hiding(options.secrets))
            }
        }

        /// The result of the opening handshake.
        public var agreement: Agreement { channel.agreement }
        /// The close codes of both sides and which side closed first; nil while the connection is open.
        public var closeRecord: CloseRecord? { channel.closeRecord }

        /// Runs `body` on the event loop; does nothing once the connection has ended.
        public func run(_ body: @escaping @Sendable (InlineSocket) -> Void) { channel.run(body) }

        /// Waits for the end of the connection and returns its close record or its error.
        ///
        /// A cancellation of the task does not end this wait; ``abort()`` does.
        public func ended() async -> Result<CloseRecord, TransportError> { await channel.ended() }

        /// Sends a ping, waits for its pong, and returns the round-trip time.
        public func ping(timeout: Duration = WebSocketTimeouts().ping) async throws(WebSocketError) -> Duration {
            try await WebSocketError.wrap { () async throws(TransportError) in try await channel.ping(timeout: timeout) }
        }

        /// Closes as ``WebSocketConnection/close(code:reason:)`` does.
        @discardableResult
        public func close(code: CloseCode = .normal, reason: String = "") async -> CloseRecord {
            await channel.close(CloseFrame(code.maySend(as: channel.role) ? code : .normal, reason: reason))
        }

        /// Drops the link at once, without a close handshake; data that still waits to be sent is lost.
        public func abort() { channel.abort() }
    }

    /// The certificates that a server presents.
    package enum ServerChain {
        /// Returns the chain, the server's own certificate first, up to the root; verifies it unless told otherwise.
        ///
        /// It performs only the TLS handshake and sends no request.
        package static func of(
            _ url: WebSocketURL, tls: TLSOptions, isUnverified: Bool = false, proxy: ProxyChoice = .direct,
            proxyTLS: TLSOptions = TLSOptions(),
            timeouts: WebSocketTimeouts = WebSocketTimeouts()
        ) async throws(WebSocketError) -> [ServerCertificate] {
            var options = ClientOptions(url: url)
            (options.tls, options.connectTimeout, options.handshakeTimeout) = (tls, timeouts.connect, timeouts.handshake)
            (options.proxy, options.proxyTLS) = (try proxy.proxy(for: url), proxyTLS)
            do {
                return try await NIOConnector.chain(of: options, isUnverified: isUnverified)
            } catch {
                throw WebSocketError(error)
            }
        }
    }
#endif
