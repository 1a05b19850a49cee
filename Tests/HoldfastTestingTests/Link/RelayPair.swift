import NIOCore
import NIOEmbedded

@testable import HoldfastTesting

/// The base of tests of a relay between two channels in memory, on a loop whose time the test moves.
class RelayPair {
    let loop = EmbeddedEventLoop()
    let near, far: EmbeddedChannel
    let nearCalls = RelayCalls()
    let farCalls = RelayCalls()
    let conditions = LinkConditions(seed: 1)

    init() throws {
        (near, far) = (EmbeddedChannel(loop: loop), EmbeddedChannel(loop: loop))
        for (channel, calls) in [(near, nearCalls), (far, farCalls)] {
            try channel.pipeline.syncOperations.addHandler(calls)
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        }
        try RelayHandler.join(near, far, conditions)
    }

    deinit {
        conditions.change { ($0.isStalled, $0.swallowed) = (false, []) }
        near.close(promise: nil)
        far.close(promise: nil)
        loop.run()
    }
}

/// Records the calls to a channel.
final class RelayCalls: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    var reads = 0
    var closes: [CloseMode] = []

    func read(context: ChannelHandlerContext) {
        reads += 1
        context.read()
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        closes.append(mode)
        if mode == .all { context.close(mode: mode, promise: promise) } else { promise?.succeed() }
    }
}
