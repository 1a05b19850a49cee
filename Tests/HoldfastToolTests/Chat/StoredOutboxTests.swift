import HoldfastRooms
import RoomCore
import Testing

@testable import HoldfastTool

@Suite struct StoredOutboxTests {
    private let store = MemoryRoomStore()

    /// Three messages of which the second has failed.
    private func outbox() async throws -> (outbox: StoredOutbox, room: RoomName) {
        let room = try #require(RoomName("lobby"))
        for number in 1...3 {
            let publication = Publication(
                cseq: Int64(number), id: MessageID(Bits128(high: 0x7000, low: 1 << 63 | UInt64(number))), sent: 5,
                content: Publication.Content(type: "t", payload: .json(Array("\(number)".utf8))))
            try await store.commit([.queue(OutboxRow(room: room, publication: publication))])
        }
        try await store.commit([.mark(room, cseq: 2, .failed(.expired))])
        return (StoredOutbox(store: store), room)
    }

    @Test func `what waits and what has failed is listed, of one room or of all`() async throws {
        let (outbox, room) = try await outbox()
        let (all, ours) = (try await outbox.rows(of: nil), try await outbox.rows(of: room))
        let others = try await outbox.rows(of: RoomName("other"))
        #expect(all.map(\.hasFailed) == [false, true, false] && ours == all && others.isEmpty)
        let line = EntryLine.json(outbox: all[1])
        #expect(line.contains(#""state":"failed""#) && line.contains(#""error":"it waited too long to be sent""#))
        #expect(line.contains(#""type":"t","body":2}"#))
    }

    @Test func `a failed message that is retried waits behind the others, under a new number and of now`() async throws {
        let (outbox, room) = try await outbox()
        let renewed = try await outbox.retry(try await outbox.rows(of: nil), at: 9)
        #expect(renewed.map(\.publication.cseq) == [4])
        let (rows, next) = (try await outbox.rows(of: room), await store.room(room).next)
        #expect(rows.map(\.publication.cseq) == [1, 3, 4] && rows.map(\.publication.sent) == [5, 5, 9] && next == 5)
        #expect(rows[2].publication.content?.payload == .json(Array("2".utf8)) && !rows[2].hasFailed)
    }

    @Test func `a failed message that is discarded is gone`() async throws {
        let (outbox, room) = try await outbox()
        let discarded = try await outbox.discard(try await outbox.rows(of: nil))
        let rows = try await outbox.rows(of: room)
        #expect(discarded.map(\.publication.cseq) == [2] && rows.map(\.publication.cseq) == [1, 3])
    }

    @Test func `one whose number is not burnt yet keeps it, and goes on under another name`() async throws {
        let (outbox, room) = try await outbox()
        try await store.commit([.mark(room, cseq: 1, .voiding(OutboxFailure(code: .rights, text: "no")))])
        let old = try await outbox.rows(of: room)[0]
        let new = try #require(try await outbox.retry([old], at: 9).first)
        #expect(new.publication.cseq == 4 && new.publication.id != old.publication.id && new.state == .queued)
        let (stored, rows) = (await store.room(room).outbox, try await outbox.rows(of: room))
        #expect(stored.map(\.state) == [.voiding(.discarded), .failed(.expired), .queued, .queued])
        #expect(rows.map(\.publication.cseq) == [2, 3, 4])
    }

    @Test func `one that was given up here is not retried before the hub has said what became of it`() async throws {
        let (outbox, room) = try await outbox()
        try await store.commit([.mark(room, cseq: 1, .voiding(.expired))])
        let given = try await outbox.rows(of: room)[0]
        #expect(given.hasFailed && !given.canBeRetried)
        let (renewed, discarded) = (try await outbox.retry([given], at: 9), try await outbox.discard([given]))
        #expect(renewed.isEmpty && discarded == [given])
        let rows = try await outbox.rows(of: room)
        #expect(rows.map(\.publication.cseq) == [2, 3])
    }
}
