#if SwiftNIO
    public import WebSocketCore
    import WebSocketNIO
    public import WebSocketRuntime

    /// A connection whose messages an ``InlineHandler`` gets on its event loop; this is how everybody else reaches it.
    ///
    /// When the last copy is released the link is dropped.
    public struct InlineConnection: Sendable {
        private let channel: WebSocketChannel

        /// Connects, shakes hands, and lets a handler serve the connection.
        ///
        /// - Parameters:
        ///   - url: `ws://host:port/path?query` or `wss://…`.
        ///   - configuration: What the connection obeys; its `delivery` has no meaning here.
        ///   - inline: Makes the handler, on the event loop, once the connection is open.
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

        /// What the opening handshake agreed on.
        public var agreement: Agreement { channel.agreement }
        /// Both close codes and who closed first; nil while the connection is open.
        public var closeRecord: CloseRecord? { channel.closeRecord }

        /// Runs `body` on the event loop; does nothing once the connection is over.
        public func run(_ body: @escaping @Sendable (InlineSocket) -> Void) { channel.run(body) }

        /// Waits for the end: how it closed, or why it failed.
        ///
        /// The only wait that cancellation does not end; ``abort()`` does.
        public func ended() async -> Result<CloseRecord, TransportError> { await channel.ended() }

        /// Sends a ping and waits for its pong; returns the round trip time.
        public func ping(timeout: Duration = WebSocketTimeouts().ping) async throws(WebSocketError) -> Duration {
            try await WebSocketError.wrap { () async throws(TransportError) in try await channel.ping(timeout: timeout) }
        }

        /// Closes as ``WebSocketConnection/close(code:reason:)`` does.
        @discardableResult
        public func close(code: CloseCode = .normal, reason: String = "") async -> CloseRecord {
            await channel.close(CloseFrame(code.maySend(as: channel.role) ? code : .normal, reason: reason))
        }

        /// Drops the link at once, without a close handshake; what still waits is lost.
        public func abort() { channel.abort() }
    }
#endif
