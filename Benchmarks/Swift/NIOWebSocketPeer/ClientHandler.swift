import Measure
import NIOCore
import NIOWebSocket

/// The three workloads of a client.
///
/// The reference server never fragments, so a frame is a message.
final class ClientHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let workload: Workload
    private let payload: ByteBuffer
    private var trips: RoundTrips
    private var meter = Meter()
    private var count = 0
    private var isDone = false
    private var isSending = false

    init(_ workload: Workload) {
        self.workload = workload
        payload = ByteBuffer(bytes: workload.payload)
        trips = RoundTrips(workload)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        // In the next turn, after the upgrade is complete.
        context.eventLoop.assumeIsolated().execute { self.start(context) }
    }

    private func start(_ context: ChannelHandlerContext) {
        if workload.mode == .ping { return ping(context) }
        meter.begin()
        if workload.mode == .receive {
            write(.text, ByteBuffer(string: workload.order), context)
            context.flush()
        } else {
            isSending = true
            send(context)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch (frame.opcode, workload.mode) {
        case (.binary, .ping):
            workload.check("size of an echo", frame.length, workload.size)
            if let line = trips.arrive() { finish(line, context) } else { ping(context) }
        case (.binary, _):
            workload.check("size of a message", frame.length, workload.size)
            count += 1
        case (.text, _):
            let line = meter.finish(workload.count)
            workload.check("messages", workload.mode == .send ? Int(String(buffer: frame.data)) : count, workload.count)
            finish(line, context)
        case (.ping, _):
            write(.pong, frame.data, context)
            context.flush()
        default:
            break
        }
    }

    private func ping(_ context: ChannelHandlerContext) {
        trips.depart()
        write(.binary, payload, context)
        context.flush()
    }

    /// Sends until the channel is full, with one flush.
    private func send(_ context: ChannelHandlerContext) {
        while count < workload.count, context.channel.isWritable {
            write(.binary, payload, context)
            count += 1
        }
        if count == workload.count {
            isSending = false
            write(.text, ByteBuffer(string: "end"), context)
        }
        context.flush()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        // In the next turn, because nested flushes would recurse without end.
        context.eventLoop.assumeIsolated().execute { if self.isSending, context.channel.isWritable { self.send(context) } }
    }

    private func write(_ opcode: WebSocketOpcode, _ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: bytes)), promise: nil)
    }

    private func finish(_ line: String, _ context: ChannelHandlerContext) {
        print(line)
        isDone = true
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if !isDone { Workload.fail("closed too early") }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        Workload.fail("\(error)")
    }
}
