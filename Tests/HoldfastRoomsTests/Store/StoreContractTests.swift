import Foundation
import HoldfastRooms
import RoomCore
import Testing

/// Tests of every client store.
@Suite(.serialized)
struct StoreContractTests {
    let room = StoreSample.room

    @Test(arguments: StoreKind.allCases)
    func `a store draws its device ID once`(kind: StoreKind) async throws {
        let (one, other) = (try StoreBench(kind), try StoreBench(kind))
        let device = try await one.device()
        #expect(try await one.device() == device)
        #expect(try await other.device() != device)
    }

    @Test(arguments: StoreKind.allCases)
    func `an unknown room is empty`(kind: StoreKind) async throws {
        let store = try StoreBench(kind)
        #expect(try await store.room(room) == StoredRoom())
        #expect(try await store.entries(room, before: nil, limit: 10).isEmpty)
        #expect(try await store.entries(room, after: .nowhere, limit: 10) == nil)
        #expect(try await store.rooms().isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `the outbox keeps its messages unchanged and in order`(kind: StoreKind) async throws {
        let store = try StoreBench(kind)
        let rows = [
            StoreSample.row(1),
            StoreSample.row(2, content: .init(type: "holdfast.edit", about: Reference(kind: "edit", seq: 7), payload: .json([0x31]))),
            StoreSample.row(3, content: .init(type: "picture", payload: .binary([0, 255, 7]))), StoreSample.row(4, content: nil),
        ]
        for row in rows { try await store.commit([.queue(row)]) }
        let stored = try await store.room(room)
        #expect(stored.outbox == rows)
        #expect(stored.next == 5)
        #expect(stored.cursor == .nowhere)
    }

    @Test(arguments: StoreKind.allCases)
    func `a message with another number than the next is refused, and nothing is written`(kind: StoreKind) async throws {
        let store = try StoreBench(kind)
        try await store.commit([.queue(StoreSample.row(1))])
        for number: Int64 in [1, 2, 4] {
            await #expect(throws: RoomStoreError.self) {
                try await store.commit([.read(room, upTo: 9), .queue(StoreSample.row(2)), .queue(StoreSample.row(number))])
            }
        }
        let stored = try await store.room(room)
        #expect(stored.next == 2)
        #expect(stored.outbox == [StoreSample.row(1)])
        #expect(stored.read == 0)
    }

    @Test(arguments: StoreKind.allCases)
    func `a message changes its state, and is removed`(kind: StoreKind) async throws {
        let store = try StoreBench(kind)
        let failure = OutboxFailure(code: .size, text: "too long")
        try await store.commit([.queue(StoreSample.row(1)), .queue(StoreSample.row(2)), .queue(StoreSample.row(3))])
        try await store.commit([.mark(room, cseq: 1, .voiding(failure)), .mark(room, cseq: 2, .failed(.expired)), .remove(room, cseq: 3)])
        #expect(try await store.room(room).outbox.map(\.state) == [.voiding(failure), .failed(.expired)])
        try await store.commit([.mark(room, cseq: 1, .queued), .remove(room, cseq: 2)])
        #expect(try await store.room(room).outbox == [StoreSample.row(1)])
        #expect(try await store.room(room).next == 4, "numbers are not used again")
    }

    @Test(arguments: StoreKind.allCases)
    func `a row that is not in the outbox is neither marked nor removed`(kind: StoreKind) async throws {
        let store = try StoreBench(kind)
        try await store.commit([.mark(room, cseq: 1, .queued), .remove(room, cseq: 1)])
        #expect(try await store.room(room) == StoredRoom())
    }

    @Test(arguments: StoreKind.allCases)
    func `a proof belongs to the cursor, and is dropped when the cursor moves`(kind: StoreKind) async throws {
        let (store, proof) = (try StoreBench(kind), CursorProof("0123456789abcdef0123456789abcdef"))
        let shown = try #require(proof)
        let replacing = StoreChange.replace(room, cursor: LogPosition(epoch: 9, seq: 2), StoreSample.entries(1...2))
        try await store.commit([replacing, .prove(room, shown)])
        #expect(try await store.room(room).proof == shown)
        try await store.commit([.queue(StoreSample.row(1)), .read(room, upTo: 2)])
        #expect(try await store.room(room).proof == shown)
        for moving in [.append(room, epoch: 9, StoreSample.entries(3...3)), replacing, .forget(room)] {
            try await store.commit([moving])
            #expect(try await store.room(room).proof == nil)
            try await store.commit([.prove(room, shown)])
            // With a change that fails it is not written either.
            await #expect(throws: RoomStoreError.self) { try await store.commit([.forget(room), .queue(StoreSample.row(7))]) }
            #expect(try await store.room(room).proof == shown)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a snapshot that ends earlier resets the read marker`(kind: StoreKind) async throws {
        let store = try StoreBench(kind)
        try await store.commit([.replace(room, cursor: LogPosition(epoch: 9, seq: 4), StoreSample.entries(1...4)), .read(room, upTo: 4)])
        try await store.commit([.replace(room, cursor: LogPosition(epoch: 9, seq: 5), StoreSample.entries(1...5))])
        #expect(try await store.room(room).read == 4)
        try await store.commit([.replace(room, cursor: LogPosition(epoch: 9, seq: 2), StoreSample.entries(1...2))])
        #expect(try await store.room(room).read == 0)
    }

    @Test(arguments: StoreKind.allCases)
    func `appended entries must follow the cursor`(kind: StoreKind) async throws {
        let store = try StoreBench(kind)
        try await store.commit([.replace(room, cursor: LogPosition(epoch: 9, seq: 11), StoreSample.entries(10...11))])
        try await store.commit([
            .append(room, epoch: 9, StoreSample.entries(12...13)), .append(room, epoch: 9, StoreSample.entries(14...14)),
        ])
        let stored = try await store.room(room)
        #expect(stored.cursor == LogPosition(epoch: 9, seq: 14))
        #expect(stored.first == 10)
        #expect(try await store.entries(room, before: nil, limit: 100) == StoreSample.entries(10...14))
    }

    @Test(arguments: StoreKind.allCases)
    func `the first entries of a room start at one`(kind: StoreKind) async throws {
        let store = try StoreBench(kind)
        await #expect(throws: RoomStoreError.self) { try await store.commit([.append(room, epoch: 9, StoreSample.entries(2...3))]) }
        try await store.commit([.append(room, epoch: 9, StoreSample.entries(1...3))])
        #expect(try await store.room(room).cursor == LogPosition(epoch: 9, seq: 3))
        #expect(try await store.room(room).first == 1)
    }

    @Test(
        arguments: StoreKind.allCases,
        [
            StoreChange.append(StoreSample.room, epoch: 9, StoreSample.entries(5...6)),
            .append(StoreSample.room, epoch: 9, StoreSample.entries(3...4)),
            .append(StoreSample.room, epoch: 8, StoreSample.entries(4...5)),
            .append(StoreSample.room, epoch: 9, StoreSample.entries(4...4) + StoreSample.entries(6...6)),
            .replace(StoreSample.room, cursor: LogPosition(epoch: 7, seq: 9), StoreSample.entries(7...8)),
            .replace(StoreSample.room, cursor: LogPosition(epoch: 7, seq: 9), StoreSample.entries(7...7) + StoreSample.entries(9...9)),
        ])
    func `entries that do not fit are refused, and nothing is written`(kind: StoreKind, change: StoreChange) async throws {
        let store = try StoreBench(kind)
        try await store.commit([.append(room, epoch: 9, StoreSample.entries(1...3))])
        let before = try await store.room(room)
        do throws(RoomStoreError) {
            try await store.commit([.queue(StoreSample.row(1)), change])
            Issue.record("the change was accepted")
        } catch {
            guard case .notFollowing(room, _) = error else {
                Issue.record("\(error)")
                return
            }
        }
        #expect(try await store.room(room) == before)
        #expect(try await store.entries(room, before: nil, limit: 9) == StoreSample.entries(1...3))
    }

    @Test(arguments: StoreKind.allCases)
    func `a snapshot replaces all entries, in one transaction with the outbox`(kind: StoreKind) async throws {
        let store = try StoreBench(kind)
        try await store.commit([
            .append(room, epoch: 9, StoreSample.entries(1...3)), .queue(StoreSample.row(1)), .queue(StoreSample.row(2)),
        ])
        try await store.commit([
            .replace(room, cursor: LogPosition(epoch: 5, seq: 22), StoreSample.entries(21...22)), .remove(room, cseq: 1),
        ])
        let stored = try await store.room(room)
        #expect(stored == StoredRoom(cursor: LogPosition(epoch: 5, seq: 22), first: 21, next: 3, outbox: [StoreSample.row(2)]))
        #expect(try await store.entries(room, before: nil, limit: 9) == StoreSample.entries(21...22))
    }

    @Test(arguments: StoreKind.allCases)
    func `a snapshot without entries sets the cursor`(kind: StoreKind) async throws {
        let store = try StoreBench(kind)
        try await store.commit([.append(room, epoch: 9, StoreSample.entries(1...3))])
        try await store.commit([.replace(room, cursor: LogPosition(epoch: 9, seq: 40), [])])
        #expect(try await store.room(room).first == 41)
        #expect(try await store.entries(room, before: nil, limit: 9).isEmpty)
        try await store.commit([.append(room, epoch: 9, StoreSample.entries(41...41))])
        #expect(try await store.room(room).first == 41)
        #expect(try await store.entries(room, before: nil, limit: 9) == StoreSample.entries(41...41))
    }

    @Test(arguments: StoreKind.allCases)
    func `older entries are prepended if they touch the first one`(kind: StoreKind) async throws {
        let store = try StoreBench(kind)
        try await store.commit([.replace(room, cursor: LogPosition(epoch: 9, seq: 11), StoreSample.entries(10...11))])
        try await store.commit([.prepend(room, epoch: 9, StoreSample.entries(7...9))])
        #expect(try await store.room(room).first == 7)
        #expect(try await store.entries(room, before: nil, limit: 9) == StoreSample.entries(7...11))
        // Entries that do not touch are skipped, and the rest of the transaction is written.
        try await store.commit([
            .prepend(room, epoch: 9, StoreSample.entries(1...3)), .prepend(room, epoch: 8, StoreSample.entries(5...6)),
            .prepend(room, epoch: 9, StoreSample.entries(6...8)), .read(room, upTo: 8),
        ])
        #expect(try await store.room(room).first == 7)
        #expect(try await store.room(room).read == 8)
        #expect(try await store.entries(room, before: nil, limit: 9) == StoreSample.entries(7...11))
    }

    @Test(arguments: StoreKind.allCases)
    func `older entries are prepended to a cursor without entries`(kind: StoreKind) async throws {
        let store = try StoreBench(kind)
        try await store.commit([.replace(room, cursor: LogPosition(epoch: 9, seq: 11), [])])
        try await store.commit([.prepend(room, epoch: 9, StoreSample.entries(8...11))])
        #expect(try await store.room(room).first == 8)
        #expect(try await store.entries(room, after: LogPosition(epoch: 9, seq: 7), limit: 9) == StoreSample.entries(8...11))
    }

    @Test(arguments: StoreKind.allCases)
    func `the oldest entries over the limit are dropped`(kind: StoreKind) async throws {
        let store = try StoreBench(kind, entriesPerRoom: 5)
        try await store.commit([.append(room, epoch: 9, StoreSample.entries(1...4))])
        try await store.commit([.append(room, epoch: 9, StoreSample.entries(5...7))])
        #expect(try await store.room(room).first == 3)
        #expect(try await store.entries(room, before: nil, limit: 99) == StoreSample.entries(3...7))
        try await store.commit([.append(room, epoch: 9, StoreSample.entries(8...30))])
        #expect(try await store.room(room).first == 26)
        #expect(try await store.entries(room, before: nil, limit: 99) == StoreSample.entries(26...30))
        try await store.commit([.prepend(room, epoch: 9, StoreSample.entries(20...25))])
        #expect(try await store.room(room).first == 26, "the limit leaves no space for older ones")
        try await store.commit([.replace(room, cursor: LogPosition(epoch: 3, seq: 9), StoreSample.entries(1...9))])
        #expect(try await store.room(room).first == 5)
        #expect(try await store.entries(room, before: nil, limit: 99) == StoreSample.entries(5...9))
    }

    @Test(arguments: StoreKind.allCases)
    func `older entries are kept up to the limit`(kind: StoreKind) async throws {
        let store = try StoreBench(kind, entriesPerRoom: 5)
        try await store.commit([.replace(room, cursor: LogPosition(epoch: 9, seq: 11), StoreSample.entries(9...11))])
        try await store.commit([.prepend(room, epoch: 9, StoreSample.entries(1...8))])
        #expect(try await store.room(room).first == 7)
        #expect(try await store.entries(room, before: nil, limit: 99) == StoreSample.entries(7...11))
    }

    @Test(arguments: StoreKind.allCases)
    func `a read marker never moves back, but is reset by another epoch`(kind: StoreKind) async throws {
        let store = try StoreBench(kind)
        try await store.commit([.append(room, epoch: 9, StoreSample.entries(1...6)), .read(room, upTo: 5)])
        try await store.commit([.read(room, upTo: 3)])
        #expect(try await store.room(room).read == 5)
        try await store.commit([.replace(room, cursor: LogPosition(epoch: 9, seq: 40), [])])
        #expect(try await store.room(room).read == 5)
        try await store.commit([.replace(room, cursor: LogPosition(epoch: 2, seq: 40), []), .read(room, upTo: 1)])
        #expect(try await store.room(room).read == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `a forgotten room keeps its outbox and its next number`(kind: StoreKind) async throws {
        let store = try StoreBench(kind)
        try await store.commit([
            .queue(StoreSample.row(1)), .queue(StoreSample.row(2)), .remove(room, cseq: 2),
            .append(room, epoch: 9, StoreSample.entries(1...3)),
            .read(room, upTo: 2),
        ])
        try await store.commit([.forget(room), .forget(StoreSample.otherRoom)])
        #expect(try await store.room(room) == StoredRoom(next: 3, outbox: [StoreSample.row(1)]))
        #expect(try await store.entries(room, before: nil, limit: 9).isEmpty)
        try await store.commit([.append(room, epoch: 4, StoreSample.entries(1...2)), .queue(StoreSample.row(3))])
        #expect(try await store.entries(room, before: nil, limit: 9) == StoreSample.entries(1...2))
    }

    @Test(arguments: StoreKind.allCases)
    func `a renewed store has another device and the given outbox, in all rooms`(kind: StoreKind) async throws {
        let store = try StoreBench(kind)
        let (other, empty) = (StoreSample.otherRoom, RoomName("empty")!)
        try await store.commit([
            .queue(StoreSample.row(1)), .queue(StoreSample.row(2)), .queue(StoreSample.row(1, room: other)),
            .queue(StoreSample.row(1, room: empty)), .append(room, epoch: 9, StoreSample.entries(1...3)),
        ])
        let device = DeviceID("0123456789abcdef0123456789abcdef")!
        let outbox = [StoreSample.row(1, room: other), StoreSample.row(2, room: other), StoreSample.row(1)]
        try await store.commit([.renew(device, outbox: outbox), .queue(StoreSample.row(3, room: other))])
        #expect(try await store.device() == device)
        #expect(try await store.room(room) == StoredRoom(cursor: LogPosition(epoch: 9, seq: 3), next: 2, outbox: [StoreSample.row(1)]))
        #expect(try await store.room(other).outbox == [1, 2, 3].map { StoreSample.row($0, room: other) })
        #expect(try await store.room(other).next == 4)
        #expect(try await store.room(empty) == StoredRoom())
    }

    @Test(arguments: StoreKind.allCases)
    func `entries are read in pages, backwards and forwards`(kind: StoreKind) async throws {
        let store = try StoreBench(kind)
        try await store.commit([.replace(room, cursor: LogPosition(epoch: 9, seq: 20), StoreSample.entries(11...20))])
        try await store.commit([.append(StoreSample.otherRoom, epoch: 9, StoreSample.entries(1...30))])
        #expect(try await store.entries(room, before: nil, limit: 3) == StoreSample.entries(18...20))
        #expect(try await store.entries(room, before: 13, limit: 5) == StoreSample.entries(11...12))
        #expect(try await store.entries(room, before: .max, limit: 1) == StoreSample.entries(20...20))
        #expect(try await store.entries(room, before: .min, limit: 5).isEmpty)
        #expect(try await store.entries(room, before: 15, limit: 0).isEmpty)
        #expect(try await store.entries(room, before: 15, limit: -1).isEmpty)
        #expect(try await store.entries(room, after: LogPosition(epoch: 9, seq: 10), limit: 2) == StoreSample.entries(11...12))
        #expect(try await store.entries(room, after: LogPosition(epoch: 9, seq: 18), limit: 9) == StoreSample.entries(19...20))
        #expect(try await store.entries(room, after: LogPosition(epoch: 9, seq: 20), limit: 9) == [])
        for gone in [LogPosition(epoch: 9, seq: 9), LogPosition(epoch: 9, seq: 21), LogPosition(epoch: 8, seq: 15)] {
            #expect(try await store.entries(room, after: gone, limit: 9) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the summary of rooms has the unread and the pending counts`(kind: StoreKind) async throws {
        let store = try StoreBench(kind)
        let own = try await store.device()
        var entries = StoreSample.entries(1...6)
        entries[3].device = own
        entries[4].type = "holdfast.react"
        try await store.commit([
            .append(room, epoch: 9, entries), .read(room, upTo: 2), .queue(StoreSample.row(1, room: StoreSample.otherRoom)),
            .queue(StoreSample.row(2, room: StoreSample.otherRoom)), .mark(StoreSample.otherRoom, cseq: 1, .failed(.expired)),
            .read(RoomName("only read")!, upTo: 4),
        ])
        #expect(
            try await store.rooms() == [
                StoredRoomSummary(name: room, cursor: LogPosition(epoch: 9, seq: 6), read: 2, unread: 2, waiting: 0, failed: 0),
                StoredRoomSummary(name: StoreSample.otherRoom, cursor: .nowhere, read: 0, unread: 0, waiting: 1, failed: 1),
            ])
    }

    @Test(arguments: StoreKind.allCases)
    func `a commit is completed even if its task is cancelled`(kind: StoreKind) async throws {
        let store = try StoreBench(kind)
        // SAFETY: the next line waits for it.
        let task = Task { [room] in
            withUnsafeCurrentTask { $0?.cancel() }
            try await store.commit([.queue(StoreSample.row(1))])
            return try await store.room(room).next
        }
        #expect(try await task.value == 2)
    }

    @Test(arguments: StoreKind.allCases)
    func `an entry is stored unchanged`(kind: StoreKind) async throws {
        let store = try StoreBench(kind)
        var entry = StoreSample.entries(1...1)[0]
        entry.about = Reference(kind: "react", seq: 900)
        entry.isAdmin = true
        entry.payload = .binary([UInt8](0...255))
        entry.sent = entry.at - 90_000
        entry.user = UserName("Zoë 👩‍🚀")!
        try await store.commit([.append(room, epoch: .max, [entry])])
        #expect(try await store.entries(room, before: nil, limit: 1) == [entry])
        #expect(try await store.room(room).cursor == LogPosition(epoch: .max, seq: 1))
    }
}
