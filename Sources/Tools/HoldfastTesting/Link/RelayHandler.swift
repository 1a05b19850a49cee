#if SwiftNIO
    import DequeModule
    import NIOCore

    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// Reads one side of a relay and writes to the other, in order, after the delay, and no faster than the target or a throttle allows.
    final class RelayHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private enum Chunk {
            case bytes(ByteBuffer)
            /// This side sends nothing more, but still reads.
            case end
            /// This side is closed.
            case hangUp
        }
        /// The number of bytes in transit to the other side at which reading stops.
        private static let capacity = 256 * 1024
        /// The cost of a piece in addition to its bytes, so that very many small pieces do not fill memory either.
        private static let overhead = 64

        private let direction: LinkDirections
        private let conditions: LinkConditions
        private let budget: RelayBudget
        private var context: ChannelHandlerContext?
        private weak var other: RelayHandler?
        private var chunks: Deque<(due: NIODeadline, chunk: Chunk)> = []
        private var cost = 0
        private var alarm: (due: NIODeadline, task: Scheduled<Void>)?
        /// Whether bytes were dropped: the rest of the stream is useless then, and is dropped until the end.
        private var hasLost = false

        private init(_ direction: LinkDirections, _ conditions: LinkConditions, _ budget: RelayBudget) {
            (self.direction, self.conditions, self.budget) = (direction, conditions, budget)
        }

        /// Connects two channels of one event loop.
        ///
        /// Call it on that event loop.
        static func join(_ near: any Channel, _ far: any Channel, _ conditions: LinkConditions) throws {
            let budget = RelayBudget(conditions)
            let (nearSide, farSide) = (RelayHandler(.up, conditions, budget), RelayHandler(.down, conditions, budget))
            (nearSide.other, farSide.other) = (farSide, nearSide)
            try far.pipeline.syncOperations.addHandler(farSide)
            try near.pipeline.syncOperations.addHandler(nearSide)
            for side in [nearSide, farSide] {
                let bound = NIOLoopBound(side, eventLoop: near.eventLoop)
                // Keeps the side alive until it has nothing more to forward, even after its channel has closed.
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
            if !swallows() { put(.bytes(Self.compact(bytes))) }
        }

        func channelReadComplete(context: ChannelHandlerContext) {
            pass()
            context.fireChannelReadComplete()
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case .inputClosed? = event as? ChannelEvent, !swallows() {
                put(.end)
                pass()
            }
            context.fireUserInboundEventTriggered(event)
        }

        /// The other side's bytes can be written to this channel again.
        func channelWritabilityChanged(context: ChannelHandlerContext) {
            if context.channel.isWritable { other?.pass() }
            context.fireChannelWritabilityChanged()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        /// The current time of the event loop; both sides share the loop, and one of them may have left it.
        private var now: NIODeadline { (context ?? other?.context)?.eventLoop.now ?? .now() }

        /// Whether the bytes that this side sends now are dropped.
        private func swallows() -> Bool {
            if conditions.present.swallowed.contains(direction) { hasLost = true }
            return hasLost
        }

        /// Copies a few bytes in a large buffer to a small buffer.
        private static func compact(_ bytes: ByteBuffer) -> ByteBuffer {
            bytes.storageCapacity > 2 * bytes.readableBytes + 1024 ? ByteBuffer(bytes: bytes.readableBytesView) : bytes
        }

        private func put(_ chunk: Chunk) {
            let due = max(now + TimeAmount(conditions.drawDelay()), chunks.last?.due ?? .distantPast)
            chunks.append((due, chunk))
            if case .bytes(let bytes) = chunk { cost += bytes.readableBytes + Self.overhead }
        }

        /// Forwards what is due, as far as the other side and the throttle allow; then reads on.
        private func pass() {
            let present = conditions.present
            let isSwallowed = present.swallowed.contains(direction)
            guard let other, let target = other.context else {
                if isSwallowed { context?.read() } else { finish() }
                return
            }
            guard !present.isStalled, !budget.isSpent else { return }
            var hasWritten = false
            let now = now
            pieces: while let first = chunks.first, target.channel.isWritable || !target.channel.isActive {
                guard first.due <= now else {
                    setAlarm(first.due)
                    break
                }
                switch first.chunk {
                case .bytes(let bytes):
                    let grant = conditions.grant(min(bytes.readableBytes, budget.left(under: present.limit)), direction, at: now)
                    guard grant.count > 0 else {
                        setAlarm(grant.next)
                        break pieces
                    }
                    write(grant.count, of: bytes, to: target)
                    hasWritten = true
                    budget.spend(grant.count)
                    if budget.isSpent, let limit = present.limit { return cut(limit.ending) }
                case .end:
                    chunks.removeFirst()
                    other.close(.output)
                case .hangUp:
                    // While this direction swallows, the close is held back too.
                    if isSwallowed { break pieces }
                    chunks.removeFirst()
                    other.close(.all)
                }
            }
            if hasWritten { target.flush() }
            if cost < Self.capacity { context?.read() }
        }

        /// Writes the beginning of the first chunk, and keeps the rest.
        private func write(_ count: Int, of bytes: ByteBuffer, to target: ChannelHandlerContext) {
            var rest = bytes
            guard let piece = rest.readSlice(length: count) else { return }
            target.write(wrapOutboundOut(piece), promise: nil)
            conditions.note(carried: count, direction)
            cost -= count
            if rest.readableBytes > 0 {
                chunks[0].chunk = .bytes(rest)
            } else {
                chunks.removeFirst()
                cost -= Self.overhead
            }
        }

        /// Cuts both connections after the written bytes were sent.
        private func cut(_ ending: LinkEnding) {
            guard let channel = context?.channel ?? other?.context?.channel, let target = other?.context?.channel else { return }
            let written = channel.eventLoop.makePromise(of: Void.self)
            written.futureResult.whenComplete { _ in [target, channel].hangUp(ending) }
            target.writeAndFlush(ByteBuffer(), promise: written)
        }

        /// Closes this side after all written bytes were sent.
        private func close(_ mode: CloseMode) {
            guard let context else { return }
            let written = context.eventLoop.makePromise(of: Void.self)
            written.futureResult.assumeIsolated().whenComplete { _ in context.close(mode: mode, promise: nil) }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
        }

        /// Cleans up after the other side has closed.
        private func finish() {
            (chunks, cost) = ([], 0)
            alarm?.task.cancel()
            conditions.forget(ObjectIdentifier(self))
        }

        private func setAlarm(_ due: NIODeadline) {
            if let alarm, alarm.due <= due { return }
            guard let loop = other?.context?.eventLoop else { return }
            alarm?.task.cancel()
            let task = loop.assumeIsolated().scheduleTask(deadline: due) { [self] in
                alarm = nil
                pass()
            }
            alarm = (due, task)
        }
    }

    /// The number of bytes that the two sides of one relayed connection may still carry together.
    final class RelayBudget {
        private let conditions: LinkConditions
        private var limit: LinkConditions.Limit?
        private var left = Int.max

        /// Whether the limit is used up, so that the connection is being cut.
        var isSpent: Bool { left <= 0 }

        init(_ conditions: LinkConditions) { self.conditions = conditions }

        /// Returns how many bytes may pass before the connection is cut, under the current limit.
        func left(under limit: LinkConditions.Limit?) -> Int {
            if limit != self.limit {
                self.limit = limit
                left = limit.map(conditions.draw) ?? .max
            }
            return left
        }

        /// Counts bytes that have passed.
        func spend(_ count: Int) {
            if limit != nil { left -= count }
        }
    }

    extension Channel {
        /// Closes the connection at once, with FIN or RST.
        func hangUp(_ ending: LinkEnding) { [self as any Channel].hangUp(ending) }

        /// Sets `SO_LINGER` to zero: the system discards unsent bytes and sends RST.
        fileprivate func forgetWhatWaits() -> EventLoopFuture<Void> {
            (self as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)) ?? eventLoop.makeSucceededVoidFuture()
        }
    }

    extension [any Channel] {
        /// Closes the connections at once, with FIN or RST.
        func hangUp(_ ending: LinkEnding) {
            guard ending == .rst, let loop = first?.eventLoop else { return forEach { $0.close(promise: nil) } }
            // Prepares all channels before it closes one: the end of one side of a link also ends the other, without a reset.
            EventLoopFuture.andAllComplete(map { $0.forgetWhatWaits() }, on: loop).whenComplete { _ in
                for channel in self { channel.close(promise: nil) }
            }
        }
    }
#endif
