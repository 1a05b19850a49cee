/// What a chat shows of a room: its messages with their edits, deletions and reactions, and how many are unread.
///
/// It is a pure fold of the room's entries. They may come in any order: a page of older ones after the edits of its messages, an entry
/// twice. One entry costs the search for its place; only one that comes between others costs more. Messages of types that nobody knows
/// are kept like all others.
///
/// What was said about messages that are not here is kept for when they come: 4 MiB of it, then the oldest half goes.
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
    /// Messages that were let go of and about which something was said, by their number.
    private var gone: [Int64: Message] = [:]
    /// Bytes of both.
    private var remarkBytes = 0
    private static let remarkLimit = 4 << 20
    /// Who reads; its own messages are not unread.
    public private(set) var reader: UserName?
    /// The device that reads; nil: unknown.
    public private(set) var device: DeviceID?
    /// How far the reader has read.
    public private(set) var readUpTo: Int64 = 0
    /// How many messages of others come after the read marker; edits, deletions, reactions and what is deleted do not count.
    public private(set) var unread = 0

    /// A timeline without entries, for this reader.
    public init(reader: UserName? = nil, device: DeviceID? = nil, readUpTo: Int64 = 0) {
        (self.reader, self.device, self.readUpTo) = (reader, device, readUpTo)
    }

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
            keep(entry, remark, about: seq)
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
        let message = message(entry)
        if counts(message) { unread += 1 }
        // The first one that came divides older from newer ones, so that both ends take another one at no cost.
        if place < older.count || place == 0 && !newer.isEmpty {
            older.insert(message, at: older.count - place)
        } else {
            newer.insert(message, at: place - older.count)
        }
        return .added(entry.seq)
    }

    /// A message with what is known about it already.
    private mutating func message(_ entry: Entry) -> Message {
        if var message = gone.removeValue(forKey: entry.seq) {
            remarkBytes -= message.remarkBytes
            message.restore(entry)
            return message
        }
        var message = Message(entry)
        for word in early.removeValue(forKey: entry.seq) ?? [] {
            remarkBytes -= word.remarkBytes
            var isReadable = true
            if let remark = Remark(word, isReadable: &isReadable) { _ = message.take(remark, of: word) }
        }
        return message
    }

    /// Keeps what is said about a message that is not here.
    private mutating func keep(_ entry: Entry, _ remark: Remark, about seq: Int64) {
        if var message = gone.removeValue(forKey: seq) {
            remarkBytes -= message.remarkBytes
            _ = message.take(remark, of: entry)
            remarkBytes += message.remarkBytes
            gone[seq] = message
        } else {
            let words = early[seq, default: []]
            guard words.last.map({ $0.seq < entry.seq }) ?? true || !words.contains(where: { $0.seq == entry.seq }) else { return }
            early[seq, default: []].append(entry)
            remarkBytes += entry.remarkBytes
        }
        forgetRemarks()
    }

    /// Forgets what was said about the oldest of the messages that are not here, if it is too much.
    private mutating func forgetRemarks() {
        guard remarkBytes > Self.remarkLimit else { return }
        for seq in Set(early.keys).union(gone.keys).sorted() where remarkBytes > Self.remarkLimit / 2 {
            for word in early.removeValue(forKey: seq) ?? [] { remarkBytes -= word.remarkBytes }
            if let message = gone.removeValue(forKey: seq) { remarkBytes -= message.remarkBytes }
        }
    }

    /// Lets go of the first messages.
    ///
    /// When they come again they look as they would have, for what was said about them is kept.
    public mutating func forget(first count: Int) {
        let count = Swift.min(Swift.max(count, 0), self.count)
        for place in 0..<count {
            if counts(self[place]) { unread -= 1 }
            guard let message = self[place].withoutContent else { continue }
            gone[message.seq] = message
            remarkBytes += message.remarkBytes
        }
        let old = Swift.min(count, older.count)
        older.removeLast(old)
        newer.removeFirst(count - old)
        forgetRemarks()
    }

    private mutating func change(at place: Int, _ body: (inout Message) -> Bool) -> Bool {
        let counted = counts(self[place])
        let isChanged = place < older.count ? body(&older[older.count - 1 - place]) : body(&newer[place - older.count])
        if counted, !counts(self[place]) { unread -= 1 }
        return isChanged
    }

    // MARK: Reading

    private func counts(_ message: Message) -> Bool {
        message.seq > readUpTo && message.original.user != reader && message.original.device != device && !message.isDeleted
    }

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
    public mutating func begin(reader: UserName?, device: DeviceID? = nil) {
        (self.reader, self.device) = (reader, device)
        unread = reduce(0) { counts($1) ? $0 + 1 : $0 }
    }

    /// A message as it is to be shown, with all that was said about it since.
    public struct Message: Hashable, Sendable, Identifiable {
        private struct Reactor: Hashable, Sendable {
            var user: UserName
            var key: String
        }
        private struct Word: Hashable, Sendable {
            var seq: Int64
            var isOn: Bool
        }
        /// The entry as it was stored.
        public private(set) var original: Entry
        /// The last edit; nil: none.
        public private(set) var edit: Entry?
        /// The first deletion; nil: none.
        public private(set) var deletion: Entry?
        /// The reactions, by the first of each key; none of a deleted message.
        public var reactions: [Reaction] { isDeleted ? [] : standing }
        private var standing: [Reaction] = []
        /// The last word of each user about each key.
        private var words: [Reactor: Word] = [:]

        init(_ original: Entry) { self.original = original }

        /// Without what it says; nil if nothing was said about it.
        var withoutContent: Message? {
            guard edit != nil || deletion != nil || !words.isEmpty else { return nil }
            var message = self
            message.original.payload = .json([])
            return message
        }

        /// The message is here again.
        mutating func restore(_ entry: Entry) { original = entry }

        /// Bytes of what was said about it, more or less.
        var remarkBytes: Int { (edit?.remarkBytes ?? 0) + (deletion?.remarkBytes ?? 0) + 128 * (words.count + 1) }

        /// The app's name for it.
        public var id: MessageID { original.id }
        /// Its place in the room's order.
        public var seq: Int64 { original.seq }
        /// How to read its payload.
        public var type: String { original.type }
        /// What it says now; that of a deleted message is not to be shown.
        public var payload: Payload { edit?.payload ?? original.payload }
        /// Whether its author, or somebody with the right, has changed it.
        public var isEdited: Bool { edit != nil }
        /// Whether its author, or somebody with the right, has deleted it: its place stays, as a gravestone.
        public var isDeleted: Bool { deletion != nil }

        /// Takes what an entry says about it; whether that changes what is to be shown.
        ///
        /// In whatever order they come, the same entries make the same message.
        mutating func take(_ remark: Remark, of entry: Entry) -> Bool {
            switch remark {
            // "Readers honour an edit or a deletion only if its `user` is that of the original or `admin` is true."
            case .edit:
                guard isHonoured(entry), entry.seq > edit?.seq ?? original.seq else { return false }
                edit = entry
                return !isDeleted
            case .delete:
                guard isHonoured(entry), entry.seq < deletion?.seq ?? .max else { return false }
                defer { deletion = entry }
                return !isDeleted
            case .react(let key, let isOn): return take(key, isOn: isOn, of: entry) && !isDeleted
            }
        }

        private func isHonoured(_ entry: Entry) -> Bool { entry.user == original.user || entry.isAdmin }

        private mutating func take(_ key: String, isOn: Bool, of entry: Entry) -> Bool {
            let reactor = Reactor(user: entry.user, key: key)
            let last = words[reactor]
            guard entry.seq > last?.seq ?? 0 else { return false }
            words[reactor] = Word(seq: entry.seq, isOn: isOn)
            let place = standing.firstIndex { $0.key == key }
            var reaction = place.map { standing.remove(at: $0) } ?? Reaction(key: key)
            if let last, last.isOn { reaction.remove(seq: last.seq) }
            if isOn { reaction.add(entry.user, seq: entry.seq) }
            if reaction.count > 0 {
                standing.insert(reaction, at: standing.firstIndex { $0.first > reaction.first } ?? standing.count)
            }
            return isOn || last?.isOn == true
        }
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
    public func insertionPlace(of seq: Int64) -> Int {
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

extension Entry {
    /// Bytes that it takes as a remark about another, more or less.
    var remarkBytes: Int { payload.bytes.count + 128 }
}
