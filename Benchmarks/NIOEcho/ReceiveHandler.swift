import NIOCore

/// Asks the sink for a stream of bytes and counts it.
final class ReceiveHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var meter: Meter

    init(meter: Meter) {
        self.meter = meter
    }

    func channelActive(context: ChannelHandlerContext) {
        meter.open()
        let order = ByteBuffer(string: "receive \(meter.size) \(meter.seconds)\n")
        context.writeAndFlush(wrapOutboundOut(order), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        meter.count(unwrapInboundIn(data).readableBytes)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let event = event as? ChannelEvent, event == .inputClosed else { return }
        meter.report()
        context.close(promise: nil)
    }
}
