import WebSocketRuntime
import RoomCore
import RoomsStorage
import Testing

@testable import HoldfastHub

/// SQLite ends a transaction by itself after some disk errors, and does not report it.
struct LogTransactionTests {
    let room = LogSample.room
    let bench = LogBench()

    @Test func `nothing is written after a transaction that ended by itself`() async throws {
        let failing = LockedValue<LogWriter?>(nil)
        let place = LogPlace(directory: bench.path)
        #expect(try place.prepare().isEmpty)
        let writer = LogWriter(place: place, retention: RoomRetention()) { point in
            guard point == .hubAppendsPartly else { return }
            // As SQLite does after an I/O error.
            failing.withLockedValue(\.self)?.assumeIsolated { try? $0.present().connection.run("ROLLBACK") }
        }
        try await writer.open(drawsNewEpochs: false, checkedBytes: .max)
        #expect(await replies(writer, [.open(room), LogSample.append(1...1)]).last == .appended(room, batch: 1))
        failing.withLockedValue { $0 = writer }
        #expect(await replies(writer, [LogSample.append(2...2, batch: 2)]) == [.notAppended(room, batch: 2)])
        failing.withLockedValue { $0 = nil }
        guard case .opened(_, let head)? = await replies(writer, [.open(room)]).first else {
            Issue.record("the room cannot be opened")
            return
        }
        #expect(head.head == 1)
        #expect(await replies(writer, [LogSample.append(2...2, batch: 3)]) == [.appended(room, batch: 3)])
        #expect(
            await replies(writer, [.fetchAfter(1, room, seq: 0, limit: 9, bytes: .max)])
                == [.fetched(1, LogSample.entries(1...2), base: 1)])
        await writer.close()
    }

    private func replies(_ writer: LogWriter, _ orders: [LogOrder]) async -> [LogReply] {
        await writer.carryOut(orders.enumerated().map { ($0, $1) }).map(\.1)
    }
}
