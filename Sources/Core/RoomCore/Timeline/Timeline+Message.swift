extension Timeline {
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

extension Entry {
    /// Bytes that it takes as a remark about another, more or less.
    var remarkBytes: Int { payload.bytes.count + 128 }
}
