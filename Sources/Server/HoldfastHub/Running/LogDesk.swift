import NIOCore
import RoomCore

/// Between the machine and the log: one call at a time; what is ordered meanwhile goes together into the next.
///
/// SAFETY: the state is touched on the machine's loop only.
final class LogDesk: @unchecked Sendable {
    /// The numbers of questions that are not the machine's are negative.
    private var asked: [Int64: EventLoopPromise<LogReply>] = [:]
    private var lastQuestion: Int64 = 0
    /// Who wants to know where a room's log stands, beside the machine.
    private var openings: [RoomName: [EventLoopPromise<LogHead>]] = [:]
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

    /// Asks the log something that the machine need not know.
    func ask(_ question: @Sendable (_ number: Int64) -> LogOrder) -> EventLoopFuture<LogReply> {
        lastQuestion -= 1
        let promise = loop.makePromise(of: LogReply.self)
        asked[lastQuestion] = promise
        order(question(lastQuestion))
        flush()
        return promise.futureResult
    }

    /// Asks where the log of a room stands, which is made if there is none.
    func open(_ room: RoomName) -> EventLoopFuture<LogHead> {
        let promise = loop.makePromise(of: LogHead.self)
        openings[room, default: []].append(promise)
        order(.open(room))
        flush()
        return promise.futureResult
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
                take(self.settle(replies))
                self.flush()
            }
        }
        loop.execute {
            for promise in self.asked.values { promise.fail(HubError.stopped) }
            for promise in self.openings.values.joined() { promise.fail(HubError.stopped) }
            (self.asked, self.openings) = ([:], [:])
        }
    }

    /// Answers those who asked, and leaves what is the machine's.
    private func settle(_ replies: [LogReply]) -> [LogReply] {
        guard !asked.isEmpty || !openings.isEmpty else { return replies }
        return replies.filter { !isOurs($0) }
    }

    private func isOurs(_ reply: LogReply) -> Bool {
        // If the machine has opened the same room there are two answers, and they are the same.
        switch reply {
        case .opened(let room, let head):
            guard let promise = nextOpening(of: room) else { return false }
            promise.succeed(head)
        case .notOpened(let room):
            guard let promise = nextOpening(of: room) else { return false }
            promise.fail(HubError.stopped)
        case .fetched(let number, _, _), .notFetched(let number), .found(let number, _):
            guard let promise = asked.removeValue(forKey: number) else { return false }
            promise.succeed(reply)
        default: return false
        }
        return true
    }

    private func nextOpening(of room: RoomName) -> EventLoopPromise<LogHead>? {
        guard var promises = openings[room] else { return nil }
        let first = promises.removeFirst()
        openings[room] = promises.isEmpty ? nil : promises
        return first
    }
}
