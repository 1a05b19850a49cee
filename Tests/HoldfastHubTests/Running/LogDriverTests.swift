import NIOCore
import NIOPosix
import RoomCore
import Testing

@testable import HoldfastHub

/// The order of work between the machine and the log.
@Suite(.timeLimit(.minutes(1))) struct LogDeskTests {
    /// A log whose reads wait until the test permits them.
    private struct HeldLog: RoomLog {
        private let permits = AsyncStream.makeStream(of: Void.self)
        private let questions = AsyncStream.makeStream(of: Void.self)

        func carryOut(_ orders: [LogOrder]) async -> [LogReply] {
            if orders.contains(where: \.isRead) {
                questions.continuation.yield()
                for await _ in permits.stream { break }
            }
            return orders.compactMap(\.negativeReply)
        }

        func tend(now: Int64, ran: Int64) async -> LogCare { LogCare() }
        var health: LogHealth { get async { .healthy } }
        var figures: LogFigures { get async { LogFigures() } }

        /// Waits for a read.
        func isAsked() async { for await _ in questions.stream { return } }
        func permit() { permits.continuation.yield() }
    }

    @Test func `an append overtakes waiting reads, and the reads follow`() async throws {
        let (log, loop) = (HeldLog(), MultiThreadedEventLoopGroup.singleton.next())
        let logDriver = LogDriver(log, loop: loop, gauges: HubGauges())
        let answers = AsyncStream.makeStream(of: [LogReply].self)
        let read = LogOrder.fetchAfter(1, .abc, seq: 0, limit: 1, bytes: 1)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await logDriver.run { answers.continuation.yield($0) } }
            try await loop.submit {
                logDriver.order(read)
                logDriver.flush()
            }.get()
            await log.isAsked()
            try await loop.submit {
                logDriver.order(.append(.abc, batch: 7, []))
                logDriver.flush()
            }.get()
            var replies = answers.stream.makeAsyncIterator()
            #expect(await replies.next() == [.notAppended(.abc, batch: 7)])
            log.permit()
            #expect(await replies.next() == [.notFetched(1)])
            logDriver.finish()
            try await group.waitForAll()
        }
    }
}
