#if HTTP2
    import NIOCore
    import WebSocketCore
    import WebSocketRuntime

    /// Asks for a WebSocket on a stream, checks the answer, and makes way for the frames.
    final class HTTP2ClientHandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let handshake: ClientHandshake
        private let options: ClientOptions
        private let opened: EventLoopPromise<WebSocketChannel>
        private var refusal: (failure: HandshakeFailure, response: ResponseHead, body: RefusalBody)?
        private var deadline: Scheduled<Void>?
        private var isDone = false
        private var isOpen = false

        init(_ handshake: ClientHandshake, options: ClientOptions, opened: EventLoopPromise<WebSocketChannel>) {
            (self.handshake, self.options, self.opened) = (handshake, options, opened)
        }

        func channelActive(context: ChannelHandlerContext) {
            let timeout = options.handshakeTimeout
            deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(timeout)) { [weak self] in
                guard let self else { return }
                guard refusal == nil else { return endRefusal(context) }
                end(context, with: TransportError(.timedOut, "\(options.url) did not answer the request within \(timeout)"))
            }
            let request = HTTP2StreamHandler.Head(fields: handshake.extendedConnect(isSecure: options.url.isSecure))
            let sent = context.eventLoop.makePromise(of: Void.self)
            sent.futureResult.assumeIsolated().whenFailure { [self] error in
                end(context, with: TransportError(.lost, "\(options.url) takes no more requests on this connection", underlying: error))
            }
            context.triggerUserOutboundEvent(request, promise: sent)
            context.read()
            context.fireChannelActive()
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard let head = event as? HTTP2StreamHandler.Head, !isDone, refusal == nil else {
                return context.fireUserInboundEventTriggered(event)
            }
            do throws(HandshakeFailure) {
                let response = try ResponseHead(http2: head.fields)
                guard !response.isInterim else { return }
                do throws(HandshakeFailure) {
                    open(try handshake.checkTunnel(response), context)
                } catch  where error.kind == .refused {
                    refusal = (error, response, RefusalBody(of: response, limit: options.refusalBodyLimit))
                    if head.isEnd || refusal?.body.isComplete == true { endRefusal(context) }
                }
            } catch {
                end(
                    context,
                    with: TransportError(.invalidHandshake, "\(options.url) sent an invalid handshake: \(error)", underlying: error))
            }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            // A stream may deliver what it holds as soon as the frames' handler asks, in the midst of `open`.
            if isOpen { return context.fireChannelRead(data) }
            guard !isDone, refusal != nil else { return }
            unwrapInboundIn(data).withUnsafeReadableBytes { _ = refusal?.body.append($0) }
            if refusal?.body.isComplete == true { endRefusal(context) }
        }

        func channelReadComplete(context: ChannelHandlerContext) {
            if !isDone { context.read() }
            context.fireChannelReadComplete()
        }

        func channelInactive(context: ChannelHandlerContext) {
            if refusal != nil { endRefusal(context) }
            end(context, with: TransportError(.lost, "\(options.url) hung up during the handshake"))
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            if refusal != nil { endRefusal(context) }
            guard let reset = error as? HTTP2StreamEnd else {
                return end(context, with: TransportError(handshaking: error, with: options.url))
            }
            // A server that wants HTTP/1.1 would say the same again.
            let code = reset.wantsHTTP1 ? TransportError.Code.invalidHandshake : .lost
            end(context, with: TransportError(code, "\(options.url) did not take the request: \(reset)", underlying: reset))
        }

        private func endRefusal(_ context: ChannelHandlerContext) {
            guard let refusal else { return }
            var error = TransportError(.refused, "\(options.url) refused the upgrade: \(refusal.response)", underlying: refusal.failure)
            (error.response, error.body) = (refusal.response, refusal.body.bytes)
            end(context, with: error)
        }

        private func open(_ agreement: Agreement, _ context: ChannelHandlerContext) {
            (isDone, isOpen) = (true, true)
            deadline?.cancel()
            do {
                let socket = try WebSocketChannel.install(
                    on: context.channel, agreement: agreement, settings: options.connection, position: .after(self),
                    isPlain: false, inline: options.inline?())
                opened.succeed(socket)
                context.pipeline.syncOperations.removeHandler(self, promise: nil)
            } catch {
                opened.fail(TransportError(.lost, "\(options.url) hung up during the handshake", underlying: error))
                context.close(promise: nil)
            }
        }

        private func end(_ context: ChannelHandlerContext, with error: TransportError) {
            guard !isDone else { return }
            isDone = true
            deadline?.cancel()
            opened.fail(error)
            context.close(promise: nil)
        }
    }
#endif
