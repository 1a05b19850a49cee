import NIOCore
import RoomCore

/// Between the machine and the log: one call at a time; what is ordered meanwhile goes together into the next.
///
/// SAFETY: the state is touched on the machine's loop only.
final class LogDesk: @unchecked Sendable {
    private var waiting: [LogOrder] = []
    private var isBusy = false
    private let loop: any EventLoop
    private let log: any RoomLog
    private let gauges: HubGauges
    /// Never more than one: the next goes when this is answered.
    private let calls: AsyncStream<[LogOrder]>
    private let calling: AsyncStream<[LogOrder]>.Continuation

    init(_ log: any RoomLog, loop: any EventLoop, gauges: HubGauges) {
        (self.log, self.loop, self.gauges) = (log, loop, gauges)
        (calls, calling) = AsyncStream.makeStream()
    }

    /// Lets an order wait for ``flush()``.
    func order(_ order: LogOrder) { waiting.append(order) }

    /// Hands over what was ordered, unless the log is at work.
    func flush() {
        guard !isBusy, !waiting.isEmpty else { return }
        isBusy = true
        calling.yield(waiting)
        waiting = []
    }

    /// Takes no more orders.
    func finish() { calling.finish() }

    /// Carries out orders until there will be no more; hands the machine's answers to `take`, on its loop.
    func run(_ take: @escaping @Sendable ([LogReply]) -> Void) async {
        for await orders in calls {
            let began = NIODeadline.now()
            let replies = await log.carryOut(orders)
            let records = orders.reduce(0) { count, order in
                if case .append(_, _, let records) = order { count + records.count } else { count }
            }
            if records > 0 { gauges.committed(records, in: .nanoseconds((.now() - began).nanoseconds)) }
            loop.execute {
                self.isBusy = false
                take(replies)
                self.flush()
            }
        }
    }
}
