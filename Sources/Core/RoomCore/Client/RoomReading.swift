/// The next item for a reader that follows a room.
public enum RoomUpdate: Hashable, Sendable {
    /// The next entry, in order.
    case entry(Entry)
    /// The earlier entries no longer connect to what follows: the stored part of the room starts anew and ends at this position.
    ///
    /// The reader must forget the earlier entries. This happens after a long absence, after the room's log was lost, and to a reader that
    /// is slower than the store's retention.
    case replaced(LogPosition)

    /// The entry, if this is one.
    public var entry: Entry? { if case .entry(let entry) = self { entry } else { nil } }
}

/// The position of a reader of a room, and the entries that it holds ready.
struct RoomReading: Hashable, Sendable {
    /// The generation of the stored data that it reads; nil before it has begun.
    var generation: UInt64?
    /// The position where it wants to begin.
    var target: LogPosition?
    /// The number of the last entry that it took.
    var seq: Int64 = 0
    /// Whether it has taken entries, which may be replaced.
    var hasBegun = false
    /// The entries after the last one that it took.
    var ready: ArraySlice<Entry> = []
}

/// The readers of a room, which take entries from memory or from the store.
extension RoomRecord {
    /// The next action of a reader.
    package enum Step: Hashable, Sendable {
        case update(RoomUpdate)
        /// Reads the entries after this position from the store.
        case read(after: LogPosition, generation: UInt64)
        /// Waits for a change.
        case wait
    }

    /// The maximum number of entries that a reader holds ready; the others stay in the store.
    package static let readerLimit = 64

    /// The number of entries that readers hold ready.
    package var readyEntries: Int { readers.values.reduce(0) { $0 + $1.ready.count } }

    package mutating func addReader(_ number: UInt64, after target: LogPosition?) { readers[number] = RoomReading(target: target) }
    package mutating func removeReader(_ number: UInt64) { readers[number] = nil }

    /// Returns the next action of a reader; nil if there is no such reader.
    package mutating func step(_ number: UInt64) -> Step? {
        guard var reading = readers[number] else { return nil }
        guard isLoaded else { return .wait }
        if isFilling, !reading.hasBegun, reading.target == nil { return .wait }
        if reading.generation != generation { return begin(number, reading) }
        if let entry = reading.ready.popFirst() {
            (reading.seq, reading.hasBegun) = (entry.seq, true)
            if reading.ready.isEmpty { reading.ready = [] }  // Releases the storage: a slice keeps removed elements.
            readers[number] = reading
            return .update(.entry(entry))
        }
        guard reading.seq < status.cursor.seq else { return .wait }
        return .read(after: LogPosition(epoch: status.cursor.epoch, seq: reading.seq), generation: generation)
    }

    /// Starts a reader, or restarts it because the stored data was replaced.
    private mutating func begin(_ number: UInt64, _ old: RoomReading) -> Step? {
        var reading = old
        reading.generation = generation
        reading.ready.removeAll()
        reading.seq = status.first - 1
        var isContinued = !old.hasBegun && (old.generation == nil || old.target == nil)
        if old.generation == nil, let target = old.target, target != .nowhere {
            isContinued = target.epoch == status.cursor.epoch && (status.first - 1...status.cursor.seq).contains(target.seq)
            if isContinued { reading.seq = target.seq }
        }
        readers[number] = reading
        return isContinued ? step(number) : .update(.replaced(status.cursor))
    }

    /// Gives new entries to the readers that are up to date and have space; the others read them from the store.
    mutating func offer(_ entries: [Entry]) {
        for (number, reading) in readers {
            guard reading.generation == generation, (reading.ready.last?.seq ?? reading.seq) + 1 == entries[0].seq,
                reading.ready.count + entries.count <= Self.readerLimit
            else { continue }
            readers[number]?.ready.append(contentsOf: entries)
        }
    }

    /// Gives a reader the entries that the store returned.
    package mutating func fill(_ number: UInt64, _ entries: [Entry], after: Int64, generation: UInt64) {
        guard waits(number, after: after, generation: generation), readers[number]?.ready.isEmpty == true, entries.first?.seq == after + 1
        else { return }
        readers[number]?.ready = entries[...]
    }

    /// Moves a reader past a gap in the stored entries.
    package mutating func skip(_ number: UInt64, after: Int64, to first: Int64, generation: UInt64) -> RoomUpdate? {
        guard waits(number, after: after, generation: generation), first > after + 1 else { return nil }
        skip(to: first)
        readers[number]?.seq = first - 1
        return .replaced(status.cursor)
    }

    /// Returns whether a reader is still at the position at which it asked the store.
    private func waits(_ number: UInt64, after seq: Int64, generation: UInt64) -> Bool {
        readers[number].map { $0.generation == generation && self.generation == generation && $0.seq == seq } ?? false
    }
}
