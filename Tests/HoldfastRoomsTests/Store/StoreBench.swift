import Foundation
import HoldfastRooms
import RoomCore

enum StoreKind: CaseIterable {
    case memory
    case sqlite
}

/// A store in a temporary directory, which is removed with this object.
final class StoreBench: RoomStore {
    private let store: any RoomStore
    private let path: String

    init(_ kind: StoreKind, entriesPerRoom: Int = 10_000) throws {
        path = StoreSample.path()
        store =
            switch kind {
            case .memory: MemoryRoomStore(entriesPerRoom: entriesPerRoom)
            case .sqlite: try SQLiteRoomStore(path: path, entriesPerRoom: entriesPerRoom)
            }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func device() async throws(RoomStoreError) -> DeviceID { try await store.device() }
    func rooms() async throws(RoomStoreError) -> [StoredRoomSummary] { try await store.rooms() }
    func room(_ name: RoomName) async throws(RoomStoreError) -> StoredRoom { try await store.room(name) }
    func commit(_ changes: [StoreChange]) async throws(RoomStoreError) { try await store.commit(changes) }
    func entries(_ room: RoomName, before: Int64?, limit: Int) async throws(RoomStoreError) -> [Entry] {
        try await store.entries(room, before: before, limit: limit)
    }
    func entries(_ room: RoomName, after: LogPosition, limit: Int) async throws(RoomStoreError) -> [Entry]? {
        try await store.entries(room, after: after, limit: limit)
    }
}

enum StoreSample {
    static let room = RoomName("abc")!
    static let otherRoom = RoomName("def")!
    private static let device = DeviceID("00112233445566778899aabbccddeeff")!

    static func path() -> String { NSTemporaryDirectory() + "holdfast-store-" + UUID().uuidString }

    static func row(
        _ cseq: Int64, room: RoomName = room, content: Publication.Content? = .init(type: "chat.text", payload: .json(Array("{}".utf8)))
    ) -> OutboxRow {
        OutboxRow(room: room, publication: Publication(cseq: cseq, id: id(cseq), sent: 1_700_000_000_000 + cseq, content: content))
    }

    static func entries(_ numbers: ClosedRange<Int64>) -> [Entry] {
        numbers.map { seq in
            Entry(
                seq: seq, id: id(seq), device: device, cseq: seq, user: UserName("ann")!, at: 1_700_000_000_000 + seq,
                sent: 1_700_000_000_000, type: "chat.text", payload: .json(Array("{\"text\":\"\(seq)\"}".utf8)))
        }
    }

    static func id(_ number: Int64) -> MessageID {
        let digits = String(number, radix: 16)
        return MessageID("01890000-0000-7000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits)!
    }
}
