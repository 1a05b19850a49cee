#if HTTP2
    import NIOCore
    import NIOHTTP2
    import WebSocketCore
    import WebSocketRuntime

    /// The client's handshake over an HTTP/2 stream (RFC 8441).
    final class HTTP2ClientHandshakeHandler: ClientHandshaking {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        let handshake: ClientHandshake
        let options: ClientOptions
        let opened: EventLoopPromise<WebSocketChannel>
        var progress = ClientHandshakeProgress()

        init(_ handshake: ClientHandshake, options: ClientOptions, opened: EventLoopPromise<WebSocketChannel>) {
            (self.handshake, self.options, self.opened) = (handshake, options, opened)
        }

        func channelActive(context: ChannelHandlerContext) {
            setDeadline(for: "request", context)
            let request = HTTP2StreamHandler.Head(fields: handshake.extendedConnect(isSecure: options.url.isSecure))
            let sent = context.eventLoop.makePromise(of: Void.self)
            sent.futureResult.assumeIsolated().whenFailure { [self] error in
                end(context, with: TransportError(.lost, "\(options.url) accepts no more requests on this connection", underlying: error))
            }
            context.triggerUserOutboundEvent(request, promise: sent)
            context.read()
            context.fireChannelActive()
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard let head = event as? HTTP2StreamHandler.Head, !progress.isDone, progress.refusal == nil else {
                return context.fireUserInboundEventTriggered(event)
            }
            var nothing = ByteBuffer()
            take(&nothing, context) { _ throws(HandshakeFailure) in try ResponseHead(http2: head.fields) }
            if head.isEnd { endRefusal(context) }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            // A stream may deliver buffered data as soon as the frame handler asks for it, while the WebSocket is still opening.
            guard !progress.isDone else { return context.fireChannelRead(data) }
            readRefusal(unwrapInboundIn(data), context)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            endRefusal(context)
            guard let reset = error as? HTTP2StreamEnd else {
                return end(context, with: TransportError(handshaking: error, with: options.url))
            }
            // A server that requires HTTP/1.1 would answer the same again.
            let code = reset.wantsHTTP1 ? TransportError.Code.invalidHandshake : .lost
            end(context, with: TransportError(code, "\(options.url) did not accept the request: \(reset)", underlying: reset))
        }
    }

    /// The server's handshake over an HTTP/2 stream (RFC 8441).
    final class HTTP2ServerHandshakeHandler: ServerHandshaking {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        let options: ServerOptions
        private let stream: HTTP2StreamHandler
        let local: LoopLocal
        let onOpen: OnOpen
        var phase = ServerHandshakePhase.head
        var early = ByteBuffer()
        var context: ChannelHandlerContext?
        var began: NIODeadline?
        var alarmIndex: Int?

        init(_ options: ServerOptions, on stream: HTTP2StreamHandler, at arrivals: Arrivals, onOpen: @escaping OnOpen) {
            (self.options, self.stream, self.onOpen, local) = (options, stream, onOpen, arrivals.local)
        }

        func handlerAdded(context: ChannelHandlerContext) { self.context = context }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard let head = event as? HTTP2StreamHandler.Head, case .head = phase else {
                return context.fireUserInboundEventTriggered(event)
            }
            do throws(HandshakeFailure) {
                judge(try RequestHead(http2: head.fields), context)
            } catch {
                refuse(nil, error, context)
            }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var bytes = unwrapInboundIn(data)
            switch phase {
            case .asking, .opening: early.writeBuffer(&bytes)
            case .done: context.fireChannelRead(data)
            case .idle, .head, .answered: break
            }
        }

        func accept(_ agreement: Agreement, for request: RequestHead, _ context: ChannelHandlerContext) throws(HandshakeFailure) {
            let head = HTTP2StreamHandler.Head(fields: try agreement.response.http2Fields())
            open(agreement, for: request, sharesReads: false, context) { context.triggerUserOutboundEvent(head, promise: nil) }
            stream.openTunnel()
        }

        func answer(_ response: PlainResponse, to request: RequestHead?, _ context: ChannelHandlerContext) {
            phase = .answered
            early = ByteBuffer()
            let encoded = try? response.sizedHead.http2Fields()
            let fields = encoded ?? [":status": "500", "content-length": "0"]
            let hasBody = encoded != nil && request?.method != "HEAD" && !response.isBodiless && !response.body.isEmpty
            context.triggerUserOutboundEvent(HTTP2StreamHandler.Head(fields: fields, isEnd: !hasBody), promise: nil)
            guard hasBody else { return }
            context.write(wrapOutboundOut(ByteBuffer(bytes: response.body)), promise: nil)
            context.close(mode: .output, promise: nil)
        }
    }

    /// Resets a stream for which the server has no room, with the code that lets the client retry (RFC 9113 §8.7).
    final class HTTP2RefusalHandler: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame.FramePayload
        typealias OutboundOut = HTTP2Frame.FramePayload

        func channelActive(context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(.rstStream(.refusedStream)), promise: nil)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
    }
#endif
