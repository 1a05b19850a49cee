import NIOCore
import RoomCore

/// Between the machine and the log: one call at a time that writes, and one that reads; what is ordered meanwhile goes together into the next.
///
/// An append never waits for what others read. The machine asks only for what it has been told to be on disk, so that a read that overtakes
/// an append, or is overtaken by one, says the same.
///
/// SAFETY: the state is touched on the machine's loop only.
final class LogDesk: @unchecked Sendable {
    /// What waits for one kind of call.
    private struct Lane {
        var waiting: [LogOrder] = []
        var isBusy = false
        /// Never more than one: the next goes when this is answered.
        let calls: AsyncStream<[LogOrder]>
        private let calling: AsyncStream<[LogOrder]>.Continuation

        init() { (calls, calling) = AsyncStream.makeStream() }

        mutating func flush() {
            guard !isBusy, !waiting.isEmpty else { return }
            isBusy = true
            calling.yield(waiting)
            waiting = []
        }

        func finish() { calling.finish() }
    }
    private var writes = Lane()
    private var reads = Lane()
    private let loop: any EventLoop
    private let log: any RoomLog
    private let gauges: HubGauges

    init(_ log: any RoomLog, loop: any EventLoop, gauges: HubGauges) { (self.log, self.loop, self.gauges) = (log, loop, gauges) }

    /// Lets an order wait for ``flush()``.
    func order(_ order: LogOrder) {
        if order.isRead { reads.waiting.append(order) } else { writes.waiting.append(order) }
    }

    /// Hands over what was ordered, unless the log is at work.
    func flush() {
        writes.flush()
        reads.flush()
    }

    /// Takes no more orders.
    func finish() {
        writes.finish()
        reads.finish()
    }

    /// Carries out orders until there will be no more; hands the machine's answers to `take`, on its loop.
    func run(_ take: @escaping @Sendable ([LogReply]) -> Void) async {
        let (writing, reading) = (writes.calls, reads.calls)
        async let read: Void = carryOut(reading) { replies in
            self.reads.isBusy = false
            take(replies)
        }
        await carryOut(writing) { replies in
            self.writes.isBusy = false
            take(replies)
        }
        await read
    }

    private func carryOut(_ calls: AsyncStream<[LogOrder]>, _ answer: @escaping @Sendable ([LogReply]) -> Void) async {
        for await orders in calls {
            let began = NIODeadline.now()
            let replies = await log.carryOut(orders)
            let records = orders.reduce(0) { count, order in
                if case .append(_, _, let records) = order { count + records.count } else { count }
            }
            if records > 0 { gauges.committed(records, in: .nanoseconds((.now() - began).nanoseconds)) }
            loop.execute {
                answer(replies)
                self.flush()
            }
        }
    }
}
