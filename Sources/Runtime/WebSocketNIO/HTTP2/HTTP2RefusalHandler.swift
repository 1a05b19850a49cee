#if HTTP2
    import NIOCore
    import NIOHTTP2

    /// Resets a stream that the server has no room for, in the way that tells the client that it may ask again (RFC 9113 §8.7).
    final class HTTP2RefusalHandler: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame.FramePayload
        typealias OutboundOut = HTTP2Frame.FramePayload

        func channelActive(context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(.rstStream(.refusedStream)), promise: nil)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
    }
#endif
