extension HubMachine {
    /// The last entries of a room's log, contiguous up to its head.
    struct Tail: Sendable {
        private var entries: [Entry] = []
        /// What the entry before them was, if it is known.
        private var before: EntryStamp?
        /// About how many bytes they take.
        private(set) var bytes: Int64 = 0

        /// The number of the first entry here; nil if there is none.
        var first: Int64? { entries.first?.seq }

        /// Appends what follows; of what is beyond twice the bounds the older half goes, so that an entry costs the same in the long run.
        ///
        /// - Parameter last: What the entry before these was.
        mutating func append(_ new: [Entry], after last: EntryStamp?, entries most: Int, bytes mostBytes: Int64) {
            if entries.isEmpty { before = last }
            entries += new
            bytes = new.reduce(into: bytes) { $0 += $1.size }
            guard entries.count > 2 * most || bytes > 2 * mostBytes else { return }
            var dropped = 0
            while entries.count - dropped > most || bytes > mostBytes, dropped < entries.count {
                bytes -= entries[dropped].size
                dropped += 1
            }
            if dropped > 0 { before = EntryStamp(entries[dropped - 1]) }
            entries.removeFirst(dropped)
        }

        mutating func removeAll() { (entries, bytes, before) = ([], 0, nil) }

        /// What an entry was; nil if it is not here.
        func stamp(of seq: Int64) -> EntryStamp? {
            guard let first, seq >= first - 1, seq - first < Int64(entries.count) else { return nil }
            return seq < first ? before : EntryStamp(entries[Int(seq - first)])
        }

        /// The entries after a number, if they are here without a gap: so many at most, and so many bytes but for the first.
        func after(_ seq: Int64, limit: Int64, bytes most: Int64) -> [Entry]? {
            guard let first, seq >= first - 1 else { return nil }
            let start = Int(min(seq - first + 1, Int64(entries.count)))
            return Array(entries[start...].prefix(Int(clamping: limit))).withinBytes(most)
        }
    }
}

extension Entry {
    /// About how many bytes it takes in a frame.
    var size: Int64 {
        let payload = Int64(payload.bytes.count)
        let text = Int64(type.utf8.count + user.text.utf8.count + (about?.kind.utf8.count ?? 0))
        return switch self.payload {
        case .json: 320 + text + payload
        case .binary: 320 + text + payload / 3 * 4
        }
    }
}

extension Publication {
    /// About how many bytes it takes on disk; a void takes those of its device's mark.
    var storedSize: Int64 {
        320 + (content.map { Int64($0.payload.bytes.count + $0.type.utf8.count + ($0.about?.kind.utf8.count ?? 0)) } ?? 0)
    }
}

extension [Entry] {
    /// As many of the first as so many bytes hold, at least one.
    func withinBytes(_ most: Int64) -> [Entry] {
        var bytes: Int64 = 0
        for (place, entry) in enumerated() {
            bytes += entry.size
            if bytes > most, place > 0 { return Array(self[..<place]) }
        }
        return self
    }

    /// Whether each follows the one before.
    var isContiguous: Bool { zip(self, dropFirst()).allSatisfy { $0.seq &+ 1 == $1.seq } }
}
