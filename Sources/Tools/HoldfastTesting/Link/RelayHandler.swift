import DequeModule
import NIOCore

/// Reads one side of a relay and writes to the other: in order, after the latency, no faster than the other side takes it.
final class RelayHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Parcel {
        case bytes(ByteBuffer)
        /// This side sends nothing more, but still reads.
        case end
        /// This side is gone.
        case hangUp
    }
    /// What may be under way to the other side before no more is read.
    private static let capacity = 256 * 1024

    private let conditions: LinkConditions
    private var context: ChannelHandlerContext?
    private weak var other: RelayHandler?
    private var parcels: Deque<(due: NIODeadline, parcel: Parcel)> = []
    private var byteCount = 0
    private var alarm: Scheduled<Void>?

    private init(_ conditions: LinkConditions) { self.conditions = conditions }

    /// Connects two channels of one event loop.
    ///
    /// Call on it.
    static func join(_ near: any Channel, _ far: any Channel, _ conditions: LinkConditions) throws {
        let (nearSide, farSide) = (RelayHandler(conditions), RelayHandler(conditions))
        (nearSide.other, farSide.other) = (farSide, nearSide)
        try far.pipeline.syncOperations.addHandler(farSide)
        try near.pipeline.syncOperations.addHandler(nearSide)
        for side in [nearSide, farSide] {
            let bound = NIOLoopBound(side, eventLoop: near.eventLoop)
            // Keeps the side until it has nothing more to pass on, also when its channel is gone.
            conditions.observe(ObjectIdentifier(side)) { bound.eventLoop.execute { bound.value.pass() } }
            side.pass()
        }
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        put(.hangUp)
        pass()
        other?.pass()
    }

    func channelActive(context: ChannelHandlerContext) {
        pass()
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        byteCount += bytes.readableBytes
        put(.bytes(bytes))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        pass()
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent {
            put(.end)
            pass()
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// This side takes again what the other sends.
    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { other?.pass() }
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// The loop's time; both sides share the loop, and one of them may have left it.
    private var now: NIODeadline { (context ?? other?.context)?.eventLoop.now ?? .now() }

    private func put(_ parcel: Parcel) {
        let due = max(now + TimeAmount(conditions.latency), parcels.last?.due ?? .distantPast)
        parcels.append((due, parcel))
    }

    /// Passes on what is due, as far as the other side takes it; then reads on.
    private func pass() {
        guard let other, let target = other.context else { return finish() }
        guard !conditions.isStalled else { return }
        var hasWritten = false
        let now = now
        while let first = parcels.first, first.due <= now, target.channel.isWritable || !target.channel.isActive {
            parcels.removeFirst()
            switch first.parcel {
            case .bytes(let bytes):
                byteCount -= bytes.readableBytes
                target.write(other.wrapOutboundOut(bytes), promise: nil)
                hasWritten = true
            case .end: other.close(.output)
            case .hangUp: other.close(.all)
            }
        }
        if hasWritten { target.flush() }
        if let due = parcels.first?.due, due > now { setAlarm(due) }
        if byteCount < Self.capacity { context?.read() }
    }

    /// Ends this side once everything written has left.
    private func close(_ mode: CloseMode) {
        guard let context else { return }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in context.close(mode: mode, promise: nil) }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
    }

    /// The other side is gone: there is nothing more to do.
    private func finish() {
        (parcels, byteCount) = ([], 0)
        alarm?.cancel()
        conditions.forget(ObjectIdentifier(self))
    }

    private func setAlarm(_ due: NIODeadline) {
        guard alarm == nil, let loop = other?.context?.eventLoop else { return }
        alarm = loop.assumeIsolated().scheduleTask(deadline: due) { [self] in
            alarm = nil
            pass()
        }
    }
}
