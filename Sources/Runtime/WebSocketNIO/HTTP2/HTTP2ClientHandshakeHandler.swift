#if HTTP2
    import NIOCore
    import WebSocketCore
    import WebSocketRuntime

    /// The client's handshake over a stream of HTTP/2 (RFC 8441).
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
                end(context, with: TransportError(.lost, "\(options.url) takes no more requests on this connection", underlying: error))
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
            // A stream may deliver what it holds as soon as the frames' handler asks, in the midst of its opening.
            guard !progress.isDone else { return context.fireChannelRead(data) }
            readRefusal(unwrapInboundIn(data), context)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            endRefusal(context)
            guard let reset = error as? HTTP2StreamEnd else {
                return end(context, with: TransportError(handshaking: error, with: options.url))
            }
            // A server that wants HTTP/1.1 would say the same again.
            let code = reset.wantsHTTP1 ? TransportError.Code.invalidHandshake : .lost
            end(context, with: TransportError(code, "\(options.url) did not take the request: \(reset)", underlying: reset))
        }
    }
#endif
