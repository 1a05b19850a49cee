#if HTTP2
    import NIOCore
    import WebSocketCore
    import WebSocketRuntime

    /// Reads the request of a stream, asks what is to become of it, answers, and makes way for the frames.
    final class HTTP2ServerHandshakeHandler: ChannelInboundHandler, RemovableChannelHandler, Alarmed {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private enum Phase {
            case head
            /// The app is asked; nothing is read meanwhile.
            case asking(Task<Void, Never>)
            /// The frames' handler is on its way: what a stream delivers in its midst has to wait behind what came before.
            case opening
            case answered
            case done
        }

        private let options: ServerOptions
        private let stream: HTTP2StreamHandler
        private let local: LoopLocal
        private let onOpen: @Sendable (WebSocketChannel, RequestHead, SocketAddress?) -> Void
        private var phase = Phase.head
        private var early = ByteBuffer()
        private var context: ChannelHandlerContext?
        private let began = NIODeadline.now()
        var alarmIndex: Int?

        init(
            _ options: ServerOptions, on stream: HTTP2StreamHandler, at arrivals: Arrivals,
            onOpen: @escaping @Sendable (WebSocketChannel, RequestHead, SocketAddress?) -> Void
        ) {
            (self.options, self.stream, self.onOpen, local) = (options, stream, onOpen, arrivals.local)
        }

        func handlerAdded(context: ChannelHandlerContext) { self.context = context }

        func handlerRemoved(context: ChannelHandlerContext) {
            end()
            self.context = nil
        }

        func channelActive(context: ChannelHandlerContext) {
            local.setAlarm(self, at: began + TimeAmount(options.handshakeTimeout))
            context.read()
            context.fireChannelActive()
        }

        func alarmRang() {
            if case .answered = phase {} else { options.onOutcome?(.timedOut) }
            context?.close(promise: nil)
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard let head = event as? HTTP2StreamHandler.Head, case .head = phase else {
                return context.fireUserInboundEventTriggered(event)
            }
            var request: RequestHead?
            do throws(HandshakeFailure) {
                let head = try RequestHead(http2: head.fields)
                request = head
                try take(head, context)
            } catch {
                options.onOutcome?(.invalid)
                answer(ServerOptions.PlainResponse(refusing: error), to: request, context)
            }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var bytes = unwrapInboundIn(data)
            switch phase {
            case .asking, .opening: early.writeBuffer(&bytes)
            case .done: context.fireChannelRead(data)
            case .head, .answered: break
            }
        }

        func channelInactive(context: ChannelHandlerContext) {
            end()
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        private func take(_ request: RequestHead, _ context: ChannelHandlerContext) throws(HandshakeFailure) {
            let handshake = try ServerOptions.handshake(of: request)
            if handshake != nil, let reason = options.origins.refusal(of: request, isSecure: options.isSecure) {
                options.onOutcome?(.declined)
                return answer(ServerOptions.PlainResponse(forbidding: reason), to: request, context)
            }
            guard let handshake, options.decide == nil else { return ask(about: request, handshake, context) }
            try accept(handshake, subprotocol: nil, headers: [:], context)
        }

        private func ask(about request: RequestHead, _ handshake: ServerHandshake?, _ context: ChannelHandlerContext) {
            let (loop, peer) = (context.eventLoop, context.channel.remoteAddress)
            let this = NIOLoopBound((self, context), eventLoop: loop)
            // SAFETY: cancelled when the stream ends, which the deadline ensures.
            phase = .asking(
                Task { [options] in
                    let decision = await options.decision(on: request, handshake, from: peer)
                    loop.execute { this.value.0.decided(decision, request, handshake, this.value.1) }
                })
        }

        private func decided(
            _ decision: ServerOptions.Decision, _ request: RequestHead, _ handshake: ServerHandshake?, _ context: ChannelHandlerContext
        ) {
            guard case .asking = phase else { return }
            switch decision {
            case .answer(let response):
                if handshake != nil { options.onOutcome?(.declined) }
                answer(response, to: request, context)
            case .accept(let subprotocol, let headers):
                do throws(HandshakeFailure) {
                    guard let handshake else { return }
                    try accept(handshake, subprotocol: subprotocol, headers: headers, context)
                } catch {
                    options.onOutcome?(.invalid)
                    answer(ServerOptions.PlainResponse(refusing: error), to: request, context)
                }
            }
        }

        private func accept(
            _ handshake: ServerHandshake, subprotocol: String?, headers: HeaderFields, _ context: ChannelHandlerContext
        ) throws(HandshakeFailure) {
            let agreement = try handshake.accept(
                subprotocol: subprotocol, deflate: options.connection.compression?.preferences, headers: headers)
            open(agreement, try agreement.response.http2Fields(), handshake.request, context)
        }

        private func open(_ agreement: Agreement, _ fields: HeaderFields, _ request: RequestHead, _ context: ChannelHandlerContext) {
            end()
            phase = .opening
            let peer = context.channel.remoteAddress
            local.beginTurn()
            defer { local.endTurn() }
            context.triggerUserOutboundEvent(HTTP2StreamHandler.Head(fields: fields), promise: nil)
            do {
                let socket = try WebSocketChannel.install(
                    on: context.channel, agreement: agreement, settings: options.connection, position: .after(self),
                    lease: nil, local: local, sharesReads: false, inline: options.inline?(request, peer))
                options.onOutcome?(.opened(after: .nanoseconds((.now() - began).nanoseconds)))
                onOpen(socket, request, peer)
                phase = .done
                if early.readableBytes > 0 {
                    context.fireChannelRead(NIOAny(early))
                    context.fireChannelReadComplete()
                }
                stream.openTunnel()
                context.pipeline.syncOperations.removeHandler(self, promise: nil)
            } catch {
                context.close(promise: nil)
            }
        }

        private func answer(_ response: ServerOptions.PlainResponse, to request: RequestHead?, _ context: ChannelHandlerContext) {
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

        private func end() {
            if case .asking(let task) = phase { task.cancel() }
            phase = .done
            local.removeAlarm(self)
        }
    }
#endif
