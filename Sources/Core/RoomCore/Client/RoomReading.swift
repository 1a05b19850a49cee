/// What one who follows a room takes next.
public enum RoomUpdate: Hashable, Sendable {
    /// The next entry, in order.
    case entry(Entry)
    /// What came before no longer joins what follows: forget it, the stored part of the room begins anew and ends at this place.
    ///
    /// It happens after a long absence, when the room's log was lost, and to a reader that was slower than what the store keeps.
    case replaced(LogPosition)

    /// The entry, if it is one.
    public var entry: Entry? { if case .entry(let entry) = self { entry } else { nil } }
}

/// Where a reader of a room is, and the entries that it has at hand.
struct RoomReading: Hashable, Sendable {
    /// Which contents of the store it reads; nil before it has begun.
    var generation: UInt64?
    /// Where it wants to begin.
    var wish: LogPosition?
    /// The last that it took.
    var seq: Int64 = 0
    /// It has taken something, which may be replaced.
    var hasBegun = false
    /// Entries after the last that it took.
    var ready: ArraySlice<Entry> = []
}

/// What readers of a room take, from memory or from the store.
extension RoomRecord {
    /// What a reader does next.
    package enum Step: Hashable, Sendable {
        case update(RoomUpdate)
        /// Reads from the store what follows this place.
        case read(after: LogPosition, generation: UInt64)
        /// Waits for a change.
        case wait
    }

    /// Entries that a reader has at hand at most; the rest waits in the store.
    package static let readerLimit = 64

    /// How many entries readers have at hand.
    package var readyEntries: Int { readers.values.reduce(0) { $0 + $1.ready.count } }

    package mutating func addReader(_ number: UInt64, after wish: LogPosition?) { readers[number] = RoomReading(wish: wish) }
    package mutating func removeReader(_ number: UInt64) { readers[number] = nil }

    /// What a reader does next; nil if there is no such reader.
    package mutating func step(_ number: UInt64) -> Step? {
        guard var reading = readers[number] else { return nil }
        guard isLoaded else { return .wait }
        if isFilling, !reading.hasBegun, reading.wish == nil { return .wait }
        if reading.generation != generation { return begin(number, reading) }
        if let entry = reading.ready.popFirst() {
            (reading.seq, reading.hasBegun) = (entry.seq, true)
            if reading.ready.isEmpty { reading.ready = [] }  // A slice keeps the entries that it has given.
            readers[number] = reading
            return .update(.entry(entry))
        }
        guard reading.seq < status.cursor.seq else { return .wait }
        return .read(after: LogPosition(epoch: status.cursor.epoch, seq: reading.seq), generation: generation)
    }

    /// A reader begins, or begins anew because what was stored is replaced.
    private mutating func begin(_ number: UInt64, _ old: RoomReading) -> Step? {
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

    /// Gives new entries to the readers that are up to date and have room; the others read them from the store.
    mutating func offer(_ entries: [Entry]) {
        for (number, reading) in readers {
            guard reading.generation == generation, (reading.ready.last?.seq ?? reading.seq) + 1 == entries[0].seq,
                reading.ready.count + entries.count <= Self.readerLimit
            else { continue }
            readers[number]?.ready.append(contentsOf: entries)
        }
    }

    /// Gives a reader what the store had.
    package mutating func fill(_ number: UInt64, _ entries: [Entry], after: Int64, generation: UInt64) {
        guard waits(number, after: after, generation: generation), readers[number]?.ready.isEmpty == true, entries.first?.seq == after + 1
        else { return }
        readers[number]?.ready = entries[...]
    }

    /// Leads a reader over a hole.
    package mutating func skip(_ number: UInt64, after: Int64, to first: Int64, generation: UInt64) -> RoomUpdate? {
        guard waits(number, after: after, generation: generation), first > after + 1 else { return nil }
        skip(to: first)
        readers[number]?.seq = first - 1
        return .replaced(status.cursor)
    }

    /// Whether a reader is still where it was when it asked the store.
    private func waits(_ number: UInt64, after seq: Int64, generation: UInt64) -> Bool {
        readers[number].map { $0.generation == generation && self.generation == generation && $0.seq == seq } ?? false
    }
}
