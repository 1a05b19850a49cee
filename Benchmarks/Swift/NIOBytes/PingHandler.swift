import Measure
import NIOCore

/// Sends some bytes, waits until all are back, and repeats.
final class PingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let workload: Workload
    private let payload: ByteBuffer
    private var trips: RoundTrips
    private var missing = 0
    private var isDone = false

    init(_ workload: Workload) {
        self.workload = workload
        payload = ByteBuffer(bytes: workload.payload)
        trips = RoundTrips(workload)
    }

    func channelActive(context: ChannelHandlerContext) {
        ping(context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        missing -= unwrapInboundIn(data).readableBytes
        if missing > 0 { return }
        workload.check("size of an echo", workload.size - missing, workload.size)
        guard let line = trips.arrive() else { return ping(context) }
        print(line)
        isDone = true
        context.close(promise: nil)
    }

    private func ping(_ context: ChannelHandlerContext) {
        missing = workload.size
        trips.depart()
        context.writeAndFlush(wrapOutboundOut(payload), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if !isDone { Workload.fail("closed too early") }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        Workload.fail("\(error)")
    }
}
