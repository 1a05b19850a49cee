#if HTTP2
    package import NIOCore
    import NIOHTTP2
    package import WebSocketCore
    import WebSocketRuntime

    /// Ends a client's HTTP/2 connection: when it is idle, when the server shuts down, and when the client violates a rule.
    ///
    /// SAFETY: used on the event loop only.
    final class HTTP2ServerHandler: ChannelInboundHandler, Alarmed, @unchecked Sendable {
        typealias InboundIn = HTTP2Frame
        typealias OutboundOut = HTTP2Frame

        private let idleTimeout: Duration
        private let firstRequest: NIODeadline
        private let local: LoopLocal
        private var context: ChannelHandlerContext?
        private var streams = 0
        /// The number of refused streams whose reset was not sent yet.
        private var refused = 0
        private var isEnding = false
        var alarmIndex: Int?

        /// - Parameter firstRequest: The deadline for the first stream.
        init(_ options: HTTP2ServerOptions, firstRequest: NIODeadline, on local: LoopLocal) {
            (idleTimeout, self.firstRequest, self.local) = (options.idleTimeout, firstRequest, local)
        }

        func handlerAdded(context: ChannelHandlerContext) {
            self.context = context
            local.setAlarm(self, at: firstRequest)
        }

        func handlerRemoved(context: ChannelHandlerContext) {
            local.removeAlarm(self)
            self.context = nil
        }

        func alarmRang() { end() }

        /// Counts a stream that was opened.
        func began(_ stream: any Channel) {
            if hasUnreadAnswers { soon { $0.end(.enhanceYourCalm) } }
            streams += 1
            local.removeAlarm(self)
            stream.closeFuture.assumeIsolated().whenComplete { [self] _ in
                streams -= 1
                guard streams == 0, context != nil else { return }
                if isEnding { end() } else { local.setAlarm(self, at: .now() + TimeAmount(idleTimeout)) }
            }
        }

        /// Ignores frames of the connection as a whole, which HTTP/2 itself has handled.
        func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard event is ChannelShouldQuiesceEvent, !isEnding else { return }
            isEnding = true
            if streams == 0 { end() } else { sayGoodbye() }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            if !error.isOfOneStream { soon { $0.context?.close(promise: nil) } }
        }

        /// Counts a stream that was refused for lack of room.
        ///
        /// It uses memory until its reset was sent, and does not count against the limit of streams.
        func refused(_ stream: any Channel) {
            refused += 1
            stream.closeFuture.assumeIsolated().whenComplete { [self] _ in refused -= 1 }
            if refused > Self.refusedLimit { soon { $0.end(.enhanceYourCalm) } }
        }

        private static let refusedLimit = 100

        /// Whether too many response heads wait to be sent: their streams have ended, so the limit of streams does not bound them.
        private var hasUnreadAnswers: Bool {
            guard let channel = context?.channel, !channel.isWritable else { return false }
            let waiting = try? channel.syncOptions?.getOption(.bufferedWritableBytes)
            return (waiting ?? 0) > Self.unreadLimit
        }

        /// In bytes; twice the amount that makes a channel unwritable.
        private static let unreadLimit = 128 * 1024

        /// Delayed, because a stream that opens just as its connection closes would never be removed.
        private func soon(_ end: @escaping (HTTP2ServerHandler) -> Void) {
            context?.eventLoop.assumeIsolated().execute { end(self) }
        }

        private func end(_ code: HTTP2ErrorCode = .noError) {
            if !isEnding { sayGoodbye(code) }
            isEnding = true
            context?.close(promise: nil)
        }

        /// Tells the client to open no more streams.
        private func sayGoodbye(_ code: HTTP2ErrorCode = .noError) {
            let goAway = HTTP2Frame(streamID: .rootStream, payload: .goAway(lastStreamID: .maxID, errorCode: code, opaqueData: nil))
            context?.writeAndFlush(wrapOutboundOut(goAway), promise: nil)
        }
    }

    /// The HTTP/2 options of a server.
    package struct HTTP2ServerOptions: Sendable {
        /// The HTTP versions that are supported.
        package var version: HTTPVersion
        /// Whether SETTINGS_ENABLE_CONNECT_PROTOCOL is announced.
        package var offersWebSockets: Bool
        /// The maximum number of concurrent streams of one connection.
        package var maximumStreams: Int
        /// How long a connection may stay without a stream.
        package var idleTimeout: Duration
        /// Returns the options for the request on a new stream; nil resets the stream.
        package var welcome: @Sendable (_ stream: any Channel) -> ServerOptions?

        package init(
            version: HTTPVersion, offersWebSockets: Bool, maximumStreams: Int, idleTimeout: Duration,
            welcome: @escaping @Sendable (_ stream: any Channel) -> ServerOptions?
        ) {
            (self.version, self.offersWebSockets) = (version, offersWebSockets)
            (self.maximumStreams, self.idleTimeout, self.welcome) = (maximumStreams, idleTimeout, welcome)
        }
    }
#endif
