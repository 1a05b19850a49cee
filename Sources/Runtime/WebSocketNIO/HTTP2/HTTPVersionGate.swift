#if HTTP2
    import NIOCore
    import NIOHTTP2
    import NIOTLS
    import WebSocketCore
    import WebSocketRuntime

    /// Goes on with the HTTP version that client and server agree on, once the server is trusted.
    final class HTTPVersionGate: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = ByteBuffer

        private let handshake: ClientHandshake
        private let options: ClientOptions
        private let place: HTTP2Place
        private let dialed: EventLoopPromise<NIOConnector.Dialed>
        private let opened: EventLoopPromise<WebSocketChannel>
        private var agreed: String?
        private var deadline: Scheduled<Void>?
        private var isDone = false

        init(
            _ handshake: ClientHandshake, _ options: ClientOptions, _ place: HTTP2Place, dialed: EventLoopPromise<NIOConnector.Dialed>,
            opened: EventLoopPromise<WebSocketChannel>
        ) {
            (self.handshake, self.options, self.place, self.dialed, self.opened) = (handshake, options, place, dialed, opened)
        }

        func channelActive(context: ChannelHandlerContext) {
            let (url, limit) = (options.url, options.handshakeTimeout)
            deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) { [weak self] in
                self?.end(context, with: TransportError(.timedOut, "\(url) did not finish TLS within \(limit)"))
            }
            context.read()
            if !options.url.isSecure { goOn(context) }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case TLSUserEvent.handshakeCompleted(let name)? = event as? TLSUserEvent { agreed = name }
            if event is TrustGate.Passed { goOn(context) }
            context.fireUserInboundEventTriggered(event)
        }

        func channelReadComplete(context: ChannelHandlerContext) {
            if isDone { context.fireChannelReadComplete() } else { context.read() }
        }

        func channelInactive(context: ChannelHandlerContext) {
            end(context, with: TransportError(.lost, "\(options.url) hung up during the handshake"))
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            if isDone { context.fireErrorCaught(error) } else { end(context, with: TransportError(handshaking: error, with: options.url)) }
        }

        private func goOn(_ context: ChannelHandlerContext) {
            guard !isDone else { return }
            let isHTTP2 = agreed == "h2" || !options.url.isSecure
            guard isHTTP2 || options.httpVersion == .automatic else {
                let words = "does not speak HTTP/2: of what was offered it chose \(agreed ?? "nothing")"
                return end(context, with: TransportError(.invalidHandshake, "\(options.url) \(words)"))
            }
            isDone = true
            deadline?.cancel()
            do {
                if isHTTP2 { try speakHTTP2(context) } else { try speakHTTP1(context) }
            } catch {
                dialed.fail(TransportError(.lost, "\(options.url) hung up during the handshake", underlying: error))
                context.close(promise: nil)
            }
        }

        private func speakHTTP2(_ context: ChannelHandlerContext) throws {
            let http2 = NIOHTTP2Handler(
                mode: .client, eventLoop: context.eventLoop,
                connectionConfiguration: .init(.client(headLimit: options.headLimit)), streamConfiguration: .init(window: place.window)
            ) { pushed in
                // Nobody asked for it.
                pushed.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
            }
            let pipeline = context.pipeline.syncOperations
            try pipeline.addHandler(HTTP2LinkHandler(http2, options, place, dialed), position: .after(self))
            try pipeline.addHandler(http2, position: .after(self))
            pipeline.removeHandler(self, promise: nil)
            // A connection is always read: each stream has its own limit.
            try context.channel.syncOptions?.setOption(.autoRead, value: true)
            context.channel.read()
        }

        private func speakHTTP1(_ context: ChannelHandlerContext) throws {
            try context.pipeline.syncOperations.addHandler(
                ClientHandshakeHandler(handshake, options: options, opened: opened), position: .after(self))
            // From here on only the WebSocket's own result tells that it was given up.
            opened.futureResult.whenFailure { [channel = context.channel] _ in channel.close(promise: nil) }
            context.fireChannelActive()
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
            dialed.succeed(.http1)
        }

        private func end(_ context: ChannelHandlerContext, with error: TransportError) {
            guard !isDone else { return }
            isDone = true
            deadline?.cancel()
            dialed.fail(error)
            context.close(promise: nil)
        }
    }
#endif
