import DequeModule
import RoomCore

/// What readers of a room take, from memory or from the store.
extension RoomBook {
    /// What a reader does next.
    enum Step {
        case update(RoomUpdate)
        case read(after: LogPosition, generation: UInt64)
        case wait(UInt64)
        case end(RoomsError)
    }

    /// What a reader does next; nil if there is no such reader.
    mutating func step(_ number: UInt64) -> Step? {
        guard var reading = readers[number] else { return nil }
        guard isLoaded else { return .wait(0) }
        if isFilling, !reading.hasBegun, reading.wish == nil { return .wait(0) }
        if reading.generation != generation { return begin(number, reading) }
        if let entry = reading.ready.popFirst() {
            (reading.seq, reading.hasBegun) = (entry.seq, true)
            readers[number] = reading
            return .update(.entry(entry))
        }
        guard reading.seq < status.cursor.seq else { return .wait(0) }
        return .read(after: LogPosition(epoch: status.cursor.epoch, seq: reading.seq), generation: generation)
    }

    /// A reader begins, or begins anew because what was stored is replaced.
    private mutating func begin(_ number: UInt64, _ old: Reading) -> Step? {
        var reading = old
        reading.generation = generation
        reading.ready.removeAll()
        reading.seq = status.first - 1
        var isContinued = !old.hasBegun && (old.generation == nil || old.wish == nil)
        if old.generation == nil, let wish = old.wish, wish != .nowhere {
            isContinued = wish.epoch == status.cursor.epoch && (status.first - 1...status.cursor.seq).contains(wish.seq)
            if isContinued { reading.seq = wish.seq }
        }
        readers[number] = reading
        return isContinued ? step(number) : .update(.replaced(status.cursor))
    }

    /// Gives a reader what the store had.
    mutating func fill(_ number: UInt64, _ entries: [Entry], after: Int64, generation: UInt64) {
        guard let reading = readers[number], reading.generation == generation, self.generation == generation, reading.seq == after,
            reading.ready.isEmpty, entries.first?.seq == after + 1
        else { return }
        readers[number]?.ready = Deque(entries)
    }

    /// Leads a reader over a hole.
    mutating func skip(_ number: UInt64, after: Int64, to first: Int64, generation: UInt64) -> RoomUpdate? {
        guard let reading = readers[number], reading.generation == generation, self.generation == generation, reading.seq == after,
            first > after + 1
        else { return nil }
        status.first = max(first, status.first)
        readers[number]?.seq = first - 1
        return .replaced(status.cursor)
    }
}
