#if HTTP2
    import NIOCore
    import NIOHTTP2
    import WebSocketCore
    import WebSocketRuntime

    /// A TCP connection that speaks HTTP/2, for the WebSockets of one place.
    final class HTTP2Link: Sendable {
        let channel: any Channel
        private let multiplexer: NIOHTTP2Handler.StreamMultiplexer

        init(_ channel: any Channel, _ multiplexer: NIOHTTP2Handler.StreamMultiplexer) {
            (self.channel, self.multiplexer) = (channel, multiplexer)
        }

        /// Opens a WebSocket on a stream that ``HTTP2Pool`` has given leave for.
        func open(_ handshake: ClientHandshake, _ options: ClientOptions, _ opened: EventLoopPromise<WebSocketChannel>) {
            let made = channel.eventLoop.makePromise(of: (any Channel).self)
            multiplexer.createStreamChannel(promise: made) { stream in
                stream.eventLoop.makeCompletedFuture {
                    try stream.syncOptions?.setOption(.autoRead, value: false)
                    try stream.pipeline.syncOperations.addHandlers([
                        HTTP2StreamHandler(isTunnel: true), HTTP2ClientHandshakeHandler(handshake, options: options, opened: opened),
                    ])
                }
            }
            made.futureResult.whenComplete { [self] result in
                switch result {
                case .success(let stream):
                    stream.closeFuture.whenComplete { _ in HTTP2Pool.shared.leave(self) }
                    // A stream of a connection that has ended meanwhile would never begin.
                    if !channel.isActive { stream.close(promise: nil) }
                    // It may have been given up meanwhile: then nobody waits for it.
                    opened.futureResult.whenFailure { _ in stream.close(promise: nil) }
                case .failure(let error):
                    HTTP2Pool.shared.leave(self)
                    opened.fail(TransportError(.lost, "\(options.url) hung up during the handshake", underlying: error))
                }
            }
        }

        /// Ends the connection; its last stream is gone.
        func close() {
            let goAway = HTTP2Frame(
                streamID: .rootStream, payload: .goAway(lastStreamID: .rootStream, errorCode: .noError, opaqueData: nil))
            channel.eventLoop.execute { [channel] in
                channel.writeAndFlush(goAway, promise: nil)
                channel.close(promise: nil)
            }
        }
    }
#endif
