import CodecCore

/// The messages of a room as a chat shows them, with edits, deletions, reactions and the number of unread messages.
///
/// The timeline is a pure fold of the room's entries. Entries may come in any order: for example, a page of older messages may come after
/// their edits, and an entry may come twice. Adding an entry costs the search for its place, and more only if it goes between others.
/// Messages of unknown types are kept like all others.
///
/// Edits, deletions and reactions for missing messages are kept until the messages come. Above 4 MiB the timeline drops them for the
/// oldest messages until half of the limit is left.
public struct Timeline: Hashable, Sendable {
    /// What an entry changed in the timeline.
    public enum Change: Hashable, Sendable {
        /// A message with this number was added.
        case added(Int64)
        /// The message with this number changed and has to be shown again.
        case changed(Int64)
    }
    /// The messages before the first one that came, in reverse order.
    private var older: [Message] = []
    private var newer: [Message] = []
    /// The remarks about missing messages, by the number of the message.
    private var early: [Int64: [Entry]] = [:]
    /// Dropped messages that have remarks, by their number.
    private var gone: [Int64: Message] = [:]
    /// The bytes of both.
    private var annotationBytes = 0
    private static let annotationLimit = 4 << 20
    /// The user who reads; the user's own messages do not count as unread.
    public private(set) var reader: UserName?
    /// The device that reads; nil: unknown.
    public private(set) var device: DeviceID?
    /// How far the reader has read.
    public private(set) var readUpTo: Int64 = 0
    /// The number of messages of others after the read marker.
    ///
    /// Edits, deletions, reactions and deleted messages do not count.
    public private(set) var unread = 0

    /// Creates an empty timeline for this reader.
    public init(reader: UserName? = nil, device: DeviceID? = nil, readUpTo: Int64 = 0) {
        (self.reader, self.device, self.readUpTo) = (reader, device, readUpTo)
    }

    /// The messages in the order of the log.
    public var messages: [Message] { Array(self) }

    /// The message with this number; nil if there is none.
    public subscript(seq seq: Int64) -> Message? { place(of: seq).map { self[$0] } }

    // MARK: Entries

    /// Applies an entry; returns what it changed, or nil.
    @discardableResult public mutating func apply(_ entry: Entry) -> Change? {
        var isReadable = true
        guard let annotation = Annotation(entry, isReadable: &isReadable) else { return isReadable ? add(entry) : nil }
        // An annotation refers only to an earlier entry.
        guard let seq = entry.about?.seq, seq < entry.seq else { return nil }
        guard let place = place(of: seq) else {
            keep(entry, annotation, about: seq)
            return nil
        }
        return change(at: place) { $0.take(annotation, of: entry) } ? .changed(seq) : nil
    }

    /// Applies entries one after the other; in reverse order if they come before all others.
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
        // The first message that came divides older from newer ones, so that adding at either end is cheap.
        if place < older.count || place == 0 && !newer.isEmpty {
            older.insert(message, at: older.count - place)
        } else {
            newer.insert(message, at: place - older.count)
        }
        return .added(entry.seq)
    }

    /// Creates a message with the remarks that came before it.
    private mutating func message(_ entry: Entry) -> Message {
        if var message = gone.removeValue(forKey: entry.seq) {
            annotationBytes -= message.annotationBytes
            message.restore(entry)
            return message
        }
        var message = Message(entry)
        for word in early.removeValue(forKey: entry.seq) ?? [] {
            annotationBytes -= word.annotationBytes
            var isReadable = true
            if let annotation = Annotation(word, isReadable: &isReadable) { _ = message.take(annotation, of: word) }
        }
        return message
    }

    /// Keeps a remark about a missing message.
    private mutating func keep(_ entry: Entry, _ annotation: Annotation, about seq: Int64) {
        if var message = gone.removeValue(forKey: seq) {
            annotationBytes -= message.annotationBytes
            _ = message.take(annotation, of: entry)
            annotationBytes += message.annotationBytes
            gone[seq] = message
        } else {
            let words = early[seq, default: []]
            guard words.last.map({ $0.seq < entry.seq }) ?? true || !words.contains(where: { $0.seq == entry.seq }) else { return }
            early[seq, default: []].append(entry)
            annotationBytes += entry.annotationBytes
        }
        forgetAnnotations()
    }

    /// Drops the remarks about the oldest missing messages if all remarks exceed the limit.
    private mutating func forgetAnnotations() {
        guard annotationBytes > Self.annotationLimit else { return }
        for seq in Set(early.keys).union(gone.keys).sorted() where annotationBytes > Self.annotationLimit / 2 {
            for word in early.removeValue(forKey: seq) ?? [] { annotationBytes -= word.annotationBytes }
            if let message = gone.removeValue(forKey: seq) { annotationBytes -= message.annotationBytes }
        }
    }

    /// Drops the first messages.
    ///
    /// Their remarks are kept, so the messages look the same when they come again.
    public mutating func forget(first count: Int) {
        let count = Swift.min(Swift.max(count, 0), self.count)
        for place in 0..<count {
            if counts(self[place]) { unread -= 1 }
            guard let message = self[place].withoutContent else { continue }
            gone[message.seq] = message
            annotationBytes += message.annotationBytes
        }
        let old = Swift.min(count, older.count)
        older.removeLast(old)
        newer.removeFirst(count - old)
        forgetAnnotations()
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

    /// Moves the read marker to an entry; the marker never goes back.
    public mutating func read(upTo seq: Int64) {
        guard seq > readUpTo else { return }
        var place = insertionPlace(of: readUpTo == .max ? .max : readUpTo + 1)
        while place < count, self[place].seq <= seq {
            if counts(self[place]) { unread -= 1 }
            place += 1
        }
        readUpTo = seq
    }

    /// Sets the reader, and counts the unread messages again.
    public mutating func begin(reader: UserName?, device: DeviceID? = nil) {
        (self.reader, self.device) = (reader, device)
        unread = reduce(0) { counts($1) ? $0 + 1 : $0 }
    }

    /// A message as it is shown, with all remarks about it applied.
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
        /// The reactions, ordered by the first reaction with each key; a deleted message has none.
        public var reactions: [Reaction] { isDeleted ? [] : standing }
        private var standing: [Reaction] = []
        /// The last reaction of each user with each key.
        private var words: [Reactor: Word] = [:]

        init(_ original: Entry) { self.original = original }

        /// The message without its payload; nil if there are no remarks about it.
        var withoutContent: Message? {
            guard edit != nil || deletion != nil || !words.isEmpty else { return nil }
            var message = self
            message.original.payload = .json([])
            return message
        }

        /// Puts the entry of a dropped message back.
        mutating func restore(_ entry: Entry) { original = entry }

        /// The approximate size of the remarks in bytes.
        var annotationBytes: Int { (edit?.annotationBytes ?? 0) + (deletion?.annotationBytes ?? 0) + 128 * (words.count + 1) }

        /// The message's ID, chosen by the app.
        public var id: MessageID { original.id }
        /// The number of the message in the log.
        public var seq: Int64 { original.seq }
        /// The type of the payload.
        public var type: String { original.type }
        /// The current payload; that of a deleted message must not be shown.
        public var payload: Payload { edit?.payload ?? original.payload }
        /// Whether the author, or a user with the right to moderate, has edited the message.
        public var isEdited: Bool { edit != nil }
        /// Whether the author, or a user with the right to moderate, has deleted the message.
        ///
        /// A deleted message keeps its place.
        public var isDeleted: Bool { deletion != nil }

        /// Applies a remark; returns whether the shown message changes.
        ///
        /// The result does not depend on the order of the remarks.
        mutating func take(_ annotation: Annotation, of entry: Entry) -> Bool {
            switch annotation {
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
    /// The index of the first message.
    public var startIndex: Int { 0 }
    /// The index after the last message.
    public var endIndex: Int { older.count + newer.count }

    /// The message at an index.
    public subscript(place: Int) -> Message { place < older.count ? older[older.count - 1 - place] : newer[place - older.count] }

    /// The index of the first message whose number is not below this.
    public func insertionPlace(of seq: Int64) -> Int {
        if let last, last.seq < seq { return count }
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].seq < seq { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The index of the message with this number; nil if there is none.
    public func place(of seq: Int64) -> Int? {
        let place = insertionPlace(of: seq)
        return place < count && self[place].seq == seq ? place : nil
    }
}

extension Entry {
    /// The approximate size of this entry as a remark, in bytes.
    var annotationBytes: Int { payload.bytes.count + 128 }
}

/// The reactions to a message with one key.
public struct Reaction: Hashable, Sendable, Identifiable {
    private struct Mark: Hashable, Sendable {
        var seq: Int64
        var user: UserName
    }
    /// The key, 1 to 64 bytes: usually an emoji.
    public let key: String
    /// The marks, sorted by the number of the reaction.
    private var marks: [Mark] = []

    init(key: String) { self.key = key }

    /// The key, which identifies the reaction.
    public var id: String { key }
    /// The users who reacted with this key, in the order of their reactions.
    public var users: [UserName] { marks.map(\.user) }
    /// The number of users who reacted with this key.
    public var count: Int { marks.count }
    /// The number of the first reaction with this key.
    var first: Int64 { marks.first?.seq ?? .max }

    private func place(of seq: Int64) -> Int {
        var (low, high) = (0, marks.count)
        while low < high {
            let middle = (low + high) / 2
            if marks[middle].seq < seq { low = middle + 1 } else { high = middle }
        }
        return low
    }

    mutating func add(_ user: UserName, seq: Int64) { marks.insert(Mark(seq: seq, user: user), at: place(of: seq)) }

    mutating func remove(seq: Int64) {
        let place = place(of: seq)
        if place < marks.count, marks[place].seq == seq { marks.remove(at: place) }
    }
}

/// A message about another message, of one of the kinds that every client knows.
enum Annotation: Hashable, Sendable {
    /// The payload replaces the payload of the other message.
    case edit
    /// The other message is no longer shown.
    case delete
    /// The user reacts to the other message with a key, or removes that reaction.
    case react(key: String, isOn: Bool)

    /// Reads an entry; nil if it is a normal message or an invalid reaction.
    ///
    /// For an invalid reaction, `isReadable` becomes false.
    init?(_ entry: Entry, isReadable: inout Bool) {
        isReadable = true
        switch entry.type {
        case "holdfast.edit": self = .edit
        case "holdfast.delete": self = .delete
        case "holdfast.react":
            guard case .json(let bytes) = entry.payload, bytes.count <= Self.longest,
                let value = unsafe bytes.withUnsafeBytes({ bytes in
                    unsafe try? Value(json: RawSpan(_unsafeBytes: bytes), limits: CodecLimits(maximumDepth: 8, maximumBytes: Self.longest))
                }),
                let key = value["key"]?.string, (1...RoomsLimits.typeLength).contains(key.utf8.count)
            else {
                isReadable = false
                return nil
            }
            self = .react(key: key, isOn: value["on"]?.bool ?? true)
        default: return nil
        }
    }

    /// The maximum length in bytes of a reaction that is parsed.
    private static let longest = 1024
}
