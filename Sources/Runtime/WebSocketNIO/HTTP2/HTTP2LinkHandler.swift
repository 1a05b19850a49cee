#if HTTP2
    import NIOCore
    import NIOHTTP2
    import WebSocketCore
    import WebSocketRuntime

    /// Waits for the server's settings, and hears what it says about the connection as a whole.
    final class HTTP2LinkHandler: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame

        private let http2: NIOHTTP2Handler
        private let options: ClientOptions
        private let place: HTTP2Place
        /// Told what it is good for; nil: it was.
        private var dialed: EventLoopPromise<NIOConnector.Dialed>?
        private var deadline: Scheduled<Void>?

        init(_ http2: NIOHTTP2Handler, _ options: ClientOptions, _ place: HTTP2Place, _ dialed: EventLoopPromise<NIOConnector.Dialed>) {
            (self.http2, self.options, self.place, self.dialed) = (http2, options, place, dialed)
        }

        func handlerAdded(context: ChannelHandlerContext) {
            let limit = options.handshakeTimeout
            deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) { [weak self] in
                guard let self else { return }
                end(context, with: TransportError(.timedOut, "\(options.url) did not send its HTTP/2 settings within \(limit)"))
            }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data).payload {
            case .settings(.settings(let settings)): read(settings, context)
            case .goAway: HTTP2Pool.shared.retire(context.channel)
            default: break
            }
        }

        func channelInactive(context: ChannelHandlerContext) {
            end(context, with: TransportError(.lost, "\(options.url) hung up during the handshake"))
            HTTP2Pool.shared.remove(context.channel)
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            if error.isOfOneStream { return }
            let isHTTP2 = error is any NIOHTTP2Error
            end(
                context,
                with: isHTTP2
                    ? TransportError(.invalidHandshake, "\(options.url) does not speak HTTP/2 as it should: \(error)", underlying: error)
                    : TransportError(handshaking: error, with: options.url))
            HTTP2Pool.shared.remove(context.channel)
            context.close(promise: nil)
        }

        private func read(_ settings: HTTP2Settings, _ context: ChannelHandlerContext) {
            let maximum = settings.value(.maxConcurrentStreams)
            guard let dialed = dialed.take() else {
                if let maximum { HTTP2Pool.shared.limit(context.channel, to: maximum) }
                return
            }
            deadline?.cancel()
            guard settings.value(.enableConnectProtocol) == 1, let multiplexer = try? http2.syncMultiplexer() else {
                dialed.succeed(.noWebSockets)
                return context.close(promise: nil)
            }
            let link = HTTP2Link(context.channel, multiplexer)
            // Its first stream is for who has opened it, whatever the server says later.
            HTTP2Pool.shared.add(link, to: place, maximum: maximum ?? .max)
            dialed.succeed(.link(link))
        }

        private func end(_ context: ChannelHandlerContext, with error: TransportError) {
            guard let dialed = dialed.take() else { return }
            deadline?.cancel()
            dialed.fail(error)
            context.close(promise: nil)
        }
    }
#endif
