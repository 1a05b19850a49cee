#if HTTP2
    package import NIOCore
    import NIOHTTP2
    package import WebSocketCore
    import WebSocketRuntime

    /// Ends a client's HTTP/2 connection: when it is idle, when the server ends, and when the client breaks a rule.
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
        /// Streams that there was no room for, and whose reset has not left yet.
        private var refused = 0
        private var isEnding = false
        var alarmIndex: Int?

        /// - Parameter firstRequest: Until when the first stream has to be there.
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

        /// A stream was opened.
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

        /// Frames of the connection as a whole: HTTP/2 itself has dealt with them.
        func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard event is ChannelShouldQuiesceEvent, !isEnding else { return }
            isEnding = true
            if streams == 0 { end() } else { sayGoodbye() }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            if !error.isOfOneStream { soon { $0.context?.close(promise: nil) } }
        }

        /// A stream was opened, and there is no room for it.
        ///
        /// It takes memory until its reset has left, and no limit of streams counts it.
        func refused(_ stream: any Channel) {
            refused += 1
            stream.closeFuture.assumeIsolated().whenComplete { [self] _ in refused -= 1 }
            if refused > Self.refusedLimit { soon { $0.end(.enhanceYourCalm) } }
        }

        private static let refusedLimit = 100

        /// Heads of answers wait for the system when their streams are over, so that no limit of streams bounds them.
        private var hasUnreadAnswers: Bool {
            guard let channel = context?.channel, !channel.isWritable else { return false }
            let waiting = try? channel.syncOptions?.getOption(.bufferedWritableBytes)
            return (waiting ?? 0) > Self.unreadLimit
        }

        /// Bytes; twice what makes a channel unwritable.
        private static let unreadLimit = 128 * 1024

        /// Not at once: a stream that opens just as its connection closes would stay for ever.
        private func soon(_ end: @escaping (HTTP2ServerHandler) -> Void) {
            context?.eventLoop.assumeIsolated().execute { end(self) }
        }

        private func end(_ code: HTTP2ErrorCode = .noError) {
            if !isEnding { sayGoodbye(code) }
            isEnding = true
            context?.close(promise: nil)
        }

        /// No more streams, please.
        private func sayGoodbye(_ code: HTTP2ErrorCode = .noError) {
            let goAway = HTTP2Frame(streamID: .rootStream, payload: .goAway(lastStreamID: .maxID, errorCode: code, opaqueData: nil))
            context?.writeAndFlush(wrapOutboundOut(goAway), promise: nil)
        }
    }

    /// How a server speaks HTTP/2.
    package struct HTTP2ServerOptions: Sendable {
        /// Which versions are spoken.
        package var version: HTTPVersion
        /// Whether SETTINGS_ENABLE_CONNECT_PROTOCOL is announced.
        package var offersWebSockets: Bool
        /// Streams that one connection may have at once.
        package var maximumStreams: Int
        /// How long a connection may be without a stream.
        package var idleTimeout: Duration
        /// What becomes of the request on a new stream; nil: the stream is reset.
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
