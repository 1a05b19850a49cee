#if HTTP2
    import NIOCore
    import WebSocketCore
    import WebSocketRuntime

    /// The server's handshake over a stream of HTTP/2 (RFC 8441).
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
#endif
