import NIOCore

/// Sends the sink a buffer per message, many per flush, as long as the socket takes them.
final class SendHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var meter: Meter
    private let message: ByteBuffer
    private var isSending = true

    init(meter: Meter) {
        self.meter = meter
        message = ByteBuffer(repeating: UInt8(ascii: "x"), count: meter.size)
    }

    func channelActive(context: ChannelHandlerContext) {
        meter.open()
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "send\n")), promise: nil)
        send(context: context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        // In a turn of its own: a flush inside a flush would nest without end.
        context.eventLoop.assumeIsolated().execute { self.send(context: context) }
    }

    private func send(context: ChannelHandlerContext) {
        while isSending, context.channel.isWritable {
            for _ in 0..<64 where context.channel.isWritable {
                context.write(wrapOutboundOut(message), promise: nil)
                meter.count(message.readableBytes)
            }
            context.flush()
            if meter.elapsed > meter.seconds {
                isSending = false
                context.close(mode: .output, promise: nil)
            }
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let answer = String(buffer: unwrapInboundIn(data))
        guard answer == "end \(meter.bytes)" else { fatalError("counted \(meter.bytes), the sink says '\(answer)'") }
        meter.report()
        context.close(promise: nil)
    }
}
