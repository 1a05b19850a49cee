import NIOCore
import RoomCore

/// The queue between the machine and the log: one write call and one read call at a time; orders that arrive meanwhile form the next batch.
///
/// Appends never wait for reads. The machine only asks for entries that it knows to be on disk. So a read returns the same whether it
/// overtakes an append or not.
///
/// SAFETY: the state is touched on the machine's loop only.
final class LogDriver: @unchecked Sendable {
    /// The queue for one kind of call.
    private struct Lane {
        var waiting: [LogOrder] = []
        var isBusy = false
        /// At most one batch at a time: the next one follows when this one is answered.
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

    /// Queues an order until ``flush()``.
    func order(_ order: LogOrder) {
        if order.isRead { reads.waiting.append(order) } else { writes.waiting.append(order) }
    }

    /// Sends the queued orders to the log, unless a call is in progress.
    func flush() {
        writes.flush()
        reads.flush()
    }

    /// Accepts no more orders.
    func finish() {
        writes.finish()
        reads.finish()
    }

    /// Carries out orders until the queue is finished; passes the log's replies to `take`, on the machine's loop.
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
