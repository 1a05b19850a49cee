import NIOCore

/// Answers a WebSocket handshake with minimal work, and echoes bytes after it.
///
/// The work that any server must do for a connection: read up to the empty line, find the key, hash it, answer.
final class AcceptHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The received part of the request, or nil after the answer.
    private var request: ByteBuffer? = ByteBuffer()

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard request != nil else { return context.write(data, promise: nil) }
        var bytes = unwrapInboundIn(data)
        if request?.readableBytes == 0 { request = bytes } else { request?.writeBuffer(&bytes) }
        guard let head = request?.readableBytesView, let key = UpgradeKey(in: head) else {
            // No proxy or browser sends such a large head.
            if let request, request.readableBytes > 16 << 10 { context.close(promise: nil) }
            return
        }
        request?.moveReaderIndex(forwardBy: key.headSize)
        context.write(wrapOutboundOut(key.answer(context.channel.allocator)), promise: nil)
        if let rest = request, rest.readableBytes > 0 { context.write(wrapOutboundOut(rest), promise: nil) }
        request = nil
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
