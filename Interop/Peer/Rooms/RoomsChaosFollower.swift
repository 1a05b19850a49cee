import HoldfastRooms
import MachineCore
import RoomCore
import RoomHistory

/// Writes the entries of a room to the history.
actor RoomsChaosFollower {
    nonisolated let room: Room
    private let file: HistoryFile
    private var epoch: UInt64
    /// The last entry that arrived.
    private(set) var seq: Int64
    /// A snapshot whose entries are still arriving.
    private var snapshot: (cursor: LogPosition, items: [HistoryItem])?

    init(_ room: Room, after cursor: LogPosition, _ file: HistoryFile) {
        (self.room, self.file, epoch, seq) = (room, file, cursor.epoch, cursor.seq)
    }

    func run() async throws {
        for try await update in room.messages(after: LogPosition(epoch: epoch, seq: seq)) {
            switch update {
            case .replaced(let position): await replace(position)
            case .entry(let entry): await take(entry)
            }
        }
    }

    private func replace(_ position: LogPosition) async {
        (snapshot, epoch, seq) = ((position, []), position.epoch, 0)
        if position.seq == 0 { await endSnapshot() }
    }

    private func take(_ entry: Entry) async {
        // A snapshot may be empty.
        if let snapshot, entry.seq > snapshot.cursor.seq { await endSnapshot() }
        if let cursor = snapshot?.cursor {
            snapshot?.items.append(HistoryItem(entry))
            if entry.seq == cursor.seq { await endSnapshot() }
        } else {
            let (digits, item) = (Hexadecimal.digits(epoch), HistoryItem(entry))
            await file.note(.applied, room: room.name.text) { ($0.epoch, $0.items) = (digits, [item]) }
            seq = entry.seq
        }
    }

    private func endSnapshot() async {
        guard let (cursor, items) = snapshot else { return }
        (snapshot, seq) = (nil, cursor.seq)
        let digits = Hexadecimal.digits(cursor.epoch)
        await file.note(.replaced, room: room.name.text) { ($0.epoch, $0.seq, $0.items) = (digits, cursor.seq, items) }
    }
}

extension HistoryItem {
    /// An entry in the form of a history.
    init(_ entry: Entry) {
        self.init(
            seq: entry.seq, id: "\(entry.id)", device: "\(entry.device)", cseq: entry.cseq, digest: HistoryDigest.of(entry.payload.bytes))
    }
}
