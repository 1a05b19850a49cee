/// What a chat shows of a room: its messages with their edits, deletions and reactions, and how many are unread.
///
/// It is a pure fold of the room's entries. They may come in any order: a page of older ones after the edits of its messages, an entry
/// twice. One entry costs the search for its place; only one that comes between others costs more. Messages of types that nobody knows
/// are kept like all others.
public struct Timeline: Hashable, Sendable {
    /// What an entry has changed.
    public enum Change: Hashable, Sendable {
        /// There is another message, with this number.
        case added(Int64)
        /// The message with this number is to be shown anew.
        case changed(Int64)
    }
    /// Those before the first that came, the latest first.
    private var older: [Message] = []
    private var newer: [Message] = []
    /// What was said about messages that are not here, by their number and its own.
    private var early: [Int64: [Entry]] = [:]
    /// Who reads; its own messages are not unread.
    public private(set) var reader: UserName?
    /// How far the reader has read.
    public private(set) var readUpTo: Int64 = 0
    /// How many messages of others come after the read marker; edits, deletions, reactions and what is deleted do not count.
    public private(set) var unread = 0

    /// A timeline without entries, for this reader.
    public init(reader: UserName? = nil, readUpTo: Int64 = 0) { (self.reader, self.readUpTo) = (reader, readUpTo) }

    /// The messages, in the room's order.
    public var messages: [Message] { Array(self) }

    /// The message with this number; nil if there is none.
    public subscript(seq seq: Int64) -> Message? { place(of: seq).map { self[$0] } }

    // MARK: Entries

    /// Takes an entry; what it has changed, or nil.
    @discardableResult public mutating func apply(_ entry: Entry) -> Change? {
        var isReadable = true
        guard let remark = Remark(entry, isReadable: &isReadable) else { return isReadable ? add(entry) : nil }
        // Nothing speaks about what comes after it.
        guard let seq = entry.about?.seq, seq < entry.seq else { return nil }
        guard let place = place(of: seq) else {
            keep(entry, about: seq)
            return nil
        }
        return change(at: place) { $0.take(remark, of: entry) } ? .changed(seq) : nil
    }

    /// Takes entries; one after the other, from the last one if they come before all others.
    public mutating func apply(_ entries: some BidirectionalCollection<Entry>) {
        if let last = entries.last, let first, last.seq < first.seq {
            for entry in entries.reversed() { apply(entry) }
        } else {
            for entry in entries { apply(entry) }
        }
    }

    private mutating func add(_ entry: Entry) -> Change? {
        let place = insertionPlace(of: entry.seq)
        guard place == count || self[place].seq != entry.seq else { return nil }
        var message = Message(entry)
        for word in early.removeValue(forKey: entry.seq) ?? [] {
            var isReadable = true
            if let remark = Remark(word, isReadable: &isReadable) { _ = message.take(remark, of: word) }
        }
        if counts(message) { unread += 1 }
        // The first one that came divides older from newer ones, so that both ends take another one at no cost.
        if place < older.count || place == 0 && !newer.isEmpty {
            older.insert(message, at: older.count - place)
        } else {
            newer.insert(message, at: place - older.count)
        }
        return .added(entry.seq)
    }

    private mutating func keep(_ entry: Entry, about seq: Int64) {
        let words = early[seq, default: []]
        guard words.last.map({ $0.seq < entry.seq }) ?? true || !words.contains(where: { $0.seq == entry.seq }) else { return }
        early[seq, default: []].append(entry)
    }

    private mutating func change(at place: Int, _ body: (inout Message) -> Bool) -> Bool {
        let counted = counts(self[place])
        let isChanged = place < older.count ? body(&older[older.count - 1 - place]) : body(&newer[place - older.count])
        if counted, !counts(self[place]) { unread -= 1 }
        return isChanged
    }

    // MARK: Reading

    private func counts(_ message: Message) -> Bool { message.seq > readUpTo && message.original.user != reader && !message.isDeleted }

    /// The reader has read up to an entry; a marker never goes back.
    public mutating func read(upTo seq: Int64) {
        guard seq > readUpTo else { return }
        var place = insertionPlace(of: readUpTo == .max ? .max : readUpTo + 1)
        while place < count, self[place].seq <= seq {
            if counts(self[place]) { unread -= 1 }
            place += 1
        }
        readUpTo = seq
    }

    /// Somebody reads, as it has become known; all is counted again.
    public mutating func begin(reader: UserName?) {
        self.reader = reader
        unread = reduce(0) { counts($1) ? $0 + 1 : $0 }
    }
}

extension Timeline: RandomAccessCollection {
    /// The place of the first message.
    public var startIndex: Int { 0 }
    /// The place after the last message.
    public var endIndex: Int { older.count + newer.count }

    /// The message at a place.
    public subscript(place: Int) -> Message { place < older.count ? older[older.count - 1 - place] : newer[place - older.count] }

    /// The place of the first message whose number is not below this.
    private func insertionPlace(of seq: Int64) -> Int {
        if let last, last.seq < seq { return count }
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].seq < seq { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The place of the message with this number; nil if there is none.
    public func place(of seq: Int64) -> Int? {
        let place = insertionPlace(of: seq)
        return place < count && self[place].seq == seq ? place : nil
    }
}
