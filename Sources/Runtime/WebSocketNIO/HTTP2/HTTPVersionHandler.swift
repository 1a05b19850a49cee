#if HTTP2
    package import NIOCore
    import NIOHTTP2
    import NIOTLS
    package import WebSocketCore
    import WebSocketRuntime

    /// Detects which HTTP version a client uses, and makes way for the handlers of that version.
    ///
    /// Over TLS the client selects it by ALPN, otherwise by its first bytes (RFC 9113 §3.3).
    package final class HTTPVersionHandler: ChannelInboundHandler, RemovableChannelHandler, Alarmed {
        package typealias InboundIn = ByteBuffer
        package typealias OnOpen = @Sendable (WebSocketChannel, RequestHead, SocketAddress?) -> Void

        private let options: ServerOptions
        private let http2: HTTP2ServerOptions
        private let arrivals: Arrivals
        private let onOpen: OnOpen
        private var began = NIODeadline.now()
        private var bytes = ByteBuffer()
        private var isDone = false
        private var context: ChannelHandlerContext?
        var alarmIndex: Int?

        /// - Parameter arrivals: The arrivals of the channel's event loop.
        package init(_ options: ServerOptions, _ http2: HTTP2ServerOptions, at arrivals: Arrivals, onOpen: @escaping OnOpen) {
            (self.options, self.http2, self.arrivals, self.onOpen) = (options, http2, arrivals, onOpen)
        }

        package func handlerAdded(context: ChannelHandlerContext) { self.context = context }

        package func handlerRemoved(context: ChannelHandlerContext) {
            arrivals.local.removeAlarm(self)
            self.context = nil
        }

        package func channelActive(context: ChannelHandlerContext) {
            began = .now()
            arrivals.local.setAlarm(self, at: began + TimeAmount(options.handshakeTimeout))
            context.read()
        }

        func alarmRang() {
            options.onOutcome?(.timedOut)
            context?.close(promise: nil)
        }

        package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if options.isSecure, case TLSUserEvent.handshakeCompleted(let agreed)? = event as? TLSUserEvent {
                goOn(context, isHTTP2: agreed == "h2")
            }
            context.fireUserInboundEventTriggered(event)
        }

        package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !isDone else { return context.fireChannelRead(data) }
            var buffer = unwrapInboundIn(data)
            bytes.writeBuffer(&buffer)
            let known = bytes.readableBytesView.prefix(Self.preface.count)
            guard Self.preface.starts(with: known) else { return goOn(context, isHTTP2: false) }
            if known.count == Self.preface.count { goOn(context, isHTTP2: true) }
        }

        package func channelReadComplete(context: ChannelHandlerContext) {
            if isDone { context.fireChannelReadComplete() } else { context.read() }
        }

        package func errorCaught(context: ChannelHandlerContext, error: any Error) {
            if isDone { context.fireErrorCaught(error) } else { context.close(promise: nil) }
        }

        private func goOn(_ context: ChannelHandlerContext, isHTTP2: Bool) {
            guard !isDone else { return }
            isDone = true
            arrivals.local.removeAlarm(self)
            do {
                if isHTTP2 {
                    try speakHTTP2(context)
                } else if http2.version == .automatic {
                    let handler = ServerHandshakeHandler(options, at: arrivals, began: began, onOpen: onOpen)
                    try context.pipeline.syncOperations.addHandler(handler, position: .after(self))
                    context.fireChannelActive()
                } else {
                    options.onOutcome?(.invalid)
                    throw ChannelError.operationUnsupported
                }
                if bytes.readableBytes > 0 {
                    context.fireChannelRead(NIOAny(bytes))
                    context.fireChannelReadComplete()
                }
                context.pipeline.syncOperations.removeHandler(self, promise: nil)
            } catch {
                context.close(promise: nil)
            }
        }

        private func speakHTTP2(_ context: ChannelHandlerContext) throws {
            let connection = HTTP2ServerHandler(http2, firstRequest: began + TimeAmount(options.handshakeTimeout), on: arrivals.local)
            let settings = HTTP2Settings.server(http2, headLimit: options.headLimit)
            let handler = NIOHTTP2Handler(
                mode: .server, eventLoop: context.eventLoop, connectionConfiguration: .init(settings),
                streamConfiguration: .init(window: options.connection.http2Window)
            ) { [http2, arrivals, onOpen] stream in
                stream.eventLoop.makeCompletedFuture {
                    guard let options = http2.welcome(stream) else {
                        connection.refused(stream)
                        return try stream.pipeline.syncOperations.addHandler(HTTP2RefusalHandler())
                    }
                    connection.began(stream)
                    try stream.syncOptions?.setOption(.autoRead, value: false)
                    let bytes = HTTP2StreamHandler(isTunnel: false)
                    try stream.pipeline.syncOperations.addHandlers([
                        bytes, HTTP2ServerHandshakeHandler(options, on: bytes, at: arrivals, onOpen: onOpen),
                    ])
                }
            }
            let pipeline = context.pipeline.syncOperations
            try pipeline.addHandler(connection, position: .after(self))
            try pipeline.addHandler(handler, position: .after(self))
            // The connection is always read, because each stream has its own flow control.
            try context.channel.syncOptions?.setOption(.autoRead, value: true)
            context.channel.read()
        }

        private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    }

    /// Continues with the HTTP version that client and server negotiated, once the server is trusted.
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
                let words = "does not support HTTP/2: of the offered protocols it chose \(agreed ?? "none")"
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
                // Refuses pushed streams, which were not requested.
                pushed.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
            }
            let pipeline = context.pipeline.syncOperations
            try pipeline.addHandler(HTTP2LinkHandler(http2, options, place, dialed), position: .after(self))
            try pipeline.addHandler(http2, position: .after(self))
            pipeline.removeHandler(self, promise: nil)
            // The connection is always read, because each stream has its own flow control.
            try context.channel.syncOptions?.setOption(.autoRead, value: true)
            context.channel.read()
        }

        private func speakHTTP1(_ context: ChannelHandlerContext) throws {
            try context.pipeline.syncOperations.addHandler(
                ClientHandshakeHandler(handshake, options: options, opened: opened), position: .after(self))
            // From here on, only the result of the WebSocket says that the attempt was given up.
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
