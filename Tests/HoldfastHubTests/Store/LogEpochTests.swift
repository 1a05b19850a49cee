import Foundation
import RoomCore
import Testing

@testable import HoldfastHub

/// New epochs of a room while a hub runs, and the key of proofs, which stays with the log.
struct LogEpochTests {
    let room = LogSample.room
    let bench = LogBench()

    @Test func `a new epoch is on disk with its answer, and nothing else in the room changes`() async throws {
        let log = try await bench.open()
        let old = try #require(await log.head())
        _ = await log.carryOut([LogSample.append(1...3), .mark(room, LogSample.ann, upTo: 2)])
        guard case .opened(room, let head)? = await log.carryOut([.renew(room)]).first else {
            Issue.record("the renewal was not answered")
            return
        }
        #expect(head.epoch != old.epoch && head.epoch != 0 && head.head == 3 && head.lastStamp == LogSample.stamp(3))
        #expect(head.reads == [HubFrame.ReadMarker(user: LogSample.ann, seq: 2)])
        _ = await log.carryOut([LogSample.append(4...4, batch: 2)])
        try await bench.kill(log)
        let again = try await bench.open()
        #expect(again.opening.renewals.isEmpty)
        #expect(
            await again.head()
                == {
                    var expected = LogSample.head(epoch: head.epoch, head: 4)
                    expected.reads = head.reads
                    return expected
                }())
        #expect(await again.stored() == LogSample.entries(1...4))
        await again.close()
    }

    @Test func `a room that is not stored gets a new epoch, too`() async throws {
        let log = try await bench.open()
        let old = try #require(await log.head())
        guard case .opened(room, let head)? = await log.carryOut([.renew(room)]).first else {
            Issue.record("the renewal was not answered")
            return
        }
        #expect(head.epoch != old.epoch && head.head == 0)
        _ = await log.carryOut([LogSample.append(1...1)])
        #expect(await log.head()?.epoch == head.epoch)
        await log.close()
    }

    @Test func `the proof key is drawn once, and copied with the log`() async throws {
        let log = try await bench.open()
        let key = try #require(log.proofs)
        await log.close()
        let again = try await bench.open()
        #expect(again.proofs == key)
        await again.close()
        let other = try await LogBench().open()
        #expect(other.proofs != nil && other.proofs != key)
        await other.close()
    }
}
