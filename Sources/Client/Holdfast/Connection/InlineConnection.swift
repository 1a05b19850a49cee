#if SwiftNIO
    public import WebSocketCore
    import WebSocketNIO
    public import WebSocketRuntime

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
                return InlineConnection(channel: try await NIOConnector.connectFollowing(options))
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
#endif
