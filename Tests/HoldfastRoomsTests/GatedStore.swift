import Holdfast
import HoldfastRooms
import WebSocketRuntime
import RoomCore

/// A store that commits only while its gate is open, or fails as if its disk were full.
final class GatedStore: RoomStore {
    private struct State {
        var isOpen = true
        var isFull = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }
    private let memory = MemoryRoomStore()
    private let state = LockedValue(State())
    /// Announced when a transaction begins to wait.
    let changes = Changes()

    var isFull: Bool {
        get { state.withLockedValue(\.isFull) }
        set { state.withLockedValue { $0.isFull = newValue } }
    }
    /// The number of transactions that wait for the gate.
    var waiting: Int { state.withLockedValue(\.waiting.count) }

    func shut() { state.withLockedValue { $0.isOpen = false } }
    func open() {
        let waiting = state.withLockedValue { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for writer in waiting { writer.resume() }
    }

    func device() async throws(RoomStoreError) -> DeviceID { await memory.device() }
    func rooms() async throws(RoomStoreError) -> [StoredRoomSummary] { await memory.rooms() }
    func room(_ name: RoomName) async throws(RoomStoreError) -> StoredRoom { await memory.room(name) }
    func commit(_ changes: [StoreChange]) async throws(RoomStoreError) {
        await withCheckedContinuation { writer in
            let isOpen = state.withLockedValue { state in
                if !state.isOpen { state.waiting.append(writer) }
                return state.isOpen
            }
            if isOpen { writer.resume() } else { self.changes.announce() }
        }
        if isFull { throw .full }
        try await memory.commit(changes)
    }
    func entries(_ room: RoomName, before: Int64?, limit: Int) async throws(RoomStoreError) -> [Entry] {
        await memory.entries(room, before: before, limit: limit)
    }
    func entries(_ room: RoomName, after: LogPosition, limit: Int) async throws(RoomStoreError) -> [Entry]? {
        await memory.entries(room, after: after, limit: limit)
    }
}
