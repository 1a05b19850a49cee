#if Rooms
    import HoldfastRooms
    public import RoomCore

    /// What an app can change about `ChatView`: the names it shows, and its words.
    ///
    /// ```swift
    /// ChatView(chat, options: ChatOptions { user in contacts[user.text]?.name })
    /// ```
    public struct ChatOptions: Sendable {
        /// The name to show for a user; nil: the user's id.
        ///
        /// It is asked whenever the chat is drawn, so it should look up and not fetch. Of a name, 64 characters are shown, and those that
        /// nobody sees are written out. If two users of a chat would have the same name, both are shown with their ids.
        public var displayName: @Sendable (UserName) -> String?
        /// The text for a key of `Localizable.strings` in this package, such as `chat.send`; nil: the text that the package has.
        ///
        /// The package has English and German. `%1$@`, `%2$@`… stand for what is put in.
        public var translation: @Sendable (_ key: String) -> String?

        /// Options; by default ids for names, and the package's words.
        public init(
            displayName: @escaping @Sendable (UserName) -> String? = { _ in nil },
            translation: @escaping @Sendable (_ key: String) -> String? = { _ in nil }
        ) {
            (self.displayName, self.translation) = (displayName, translation)
        }
    }

    /// What a transcript shows, one below the other.
    enum ChatLine: Identifiable, Hashable {
        /// What tells a line from all others.
        enum ID: Hashable {
            case day(before: ChatMessageID)
            case message(ChatMessageID)
        }

        /// From here on the messages are of another day: that of this time, in milliseconds since 1970 UTC.
        case day(Int64, before: ChatMessageID)
        /// A message, and where in a group it stands.
        case message(ChatMessage, isFirst: Bool, isLast: Bool)

        var id: ID {
            switch self {
            case .day(_, let message): .day(before: message)
            case .message(let message, _, _): .message(message.id)
            }
        }

        /// Messages of one user that are no further apart than this belong together: the name stands above the first, the time below the last.
        static let gap: Int64 = 5 * 60 * 1000

        /// The lines for messages, in their order.
        ///
        /// Times are those of the authors' clocks, so they may go back, and so may the days.
        static func lines(for messages: [ChatMessage], _ calendar: ChatCalendar) -> [ChatLine] {
            var lines: [ChatLine] = []
            lines.reserveCapacity(messages.count + messages.count / 4)
            var before: (message: ChatMessage, day: Int64)?
            for (place, message) in messages.enumerated() {
                let day = calendar.day(of: message.at)
                if day != before?.day { lines.append(.day(message.at, before: message.id)) }
                let isFirst = before.map { $0.day != day || !belongTogether($0.message, message) } ?? true
                let next = place + 1 < messages.count ? messages[place + 1] : nil
                let isLast = next.map { calendar.day(of: $0.at) != day || !belongTogether(message, $0) } ?? true
                lines.append(.message(message, isFirst: isFirst, isLast: isLast))
                before = (message, day)
            }
            return lines
        }

        private static func belongTogether(_ one: ChatMessage, _ next: ChatMessage) -> Bool {
            guard one.isOwn == next.isOwn, one.isOwn || one.user == next.user else { return false }
            let (apart, isTooFar) = next.at.subtractingReportingOverflow(one.at)
            return !isTooFar && apart.magnitude <= gap.magnitude
        }
    }

    /// The names that a chat shows for users.
    struct ChatNames {
        /// Characters of a name that are shown.
        static let limit = 64

        private let words: Words
        private let displayName: @Sendable (UserName) -> String?
        /// Names that stand for more than one user, or for what is no user.
        private let ambiguous: Set<String>

        /// Names for the users of one chat.
        init(_ users: some Sequence<UserName>, _ words: Words, _ displayName: @escaping @Sendable (UserName) -> String?) {
            (self.words, self.displayName) = (words, displayName)
            var (seen, ambiguous) = (Set<String>(), Set([Self.folded(words(.you)), Self.folded(words(.somebody))]))
            for user in Set(users) where !seen.insert(Self.folded(Self.plain(user, displayName))).inserted {
                ambiguous.insert(Self.folded(Self.plain(user, displayName)))
            }
            self.ambiguous = ambiguous
        }

        /// Names for those who wrote, are present or type.
        @MainActor init(_ model: some ChatPresenting, _ words: Words, _ displayName: @escaping @Sendable (UserName) -> String?) {
            self.init(model.messages.compactMap(\.user) + model.people.map(\.user) + model.typing, words, displayName)
        }

        /// The name of a user, with the id where the name alone does not say who it is.
        func name(of user: UserName) -> String {
            let (name, id) = (Self.plain(user, displayName), user.text.escapedAsName)
            return name != id && ambiguous.contains(Self.folded(name)) ? "\(name) (\(id))" : name
        }

        /// The name of who wrote a message.
        func author(of message: ChatMessage) -> String {
            message.isOwn ? words(.you) : message.user.map { name(of: $0) } ?? words(.somebody)
        }

        /// The names of several, with commas.
        func list(_ users: [UserName]) -> String { users.map { name(of: $0) }.joined(separator: ", ") }

        /// Who types; nil: nobody does.
        func typing(_ users: [UserName]) -> String? {
            switch users.count {
            case 0: nil
            case 1: words(.typingOne, name(of: users[0]))
            case 2: words(.typingTwo, name(of: users[0]), name(of: users[1]))
            default: words(.typingMany)
            }
        }

        private static func plain(_ user: UserName, _ displayName: (UserName) -> String?) -> String {
            let name = displayName(user)?.split(whereSeparator: \.isWhitespace).joined(separator: " ") ?? ""
            return name.isEmpty ? user.text.escapedAsName : String(name.escapedAsName.prefix(limit))
        }

        private static func folded(_ name: String) -> String { name.lowercased() }
    }

    /// What VoiceOver reads for a message: who, when, what, and what has become of it, in one sentence.
    struct ChatSpeech {
        let words: Words
        let names: ChatNames
        /// A time of day for people to hear, of milliseconds since 1970 UTC.
        let time: (Int64) -> String

        func sentence(_ message: ChatMessage) -> String {
            let text = message.isDeleted ? words(.deleted) : message.text
            var parts = [words(.spokenMessage, names.author(of: message), time(message.at), text)]
            if message.isEdited, !message.isDeleted { parts.append(words(.edited)) }
            for reaction in message.reactions where !reaction.users.isEmpty {
                let count = reaction.users.count
                parts.append(
                    count == 1 ? words(.spokenReactionOne, reaction.key) : words(.spokenReactionMany, reaction.key, "\(count)"))
            }
            if let delivery = message.delivery { parts.append(words.label(delivery)) }
            return parts.joined(separator: ", ")
        }
    }
#endif
