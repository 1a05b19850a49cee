#if Rooms
    import HoldfastRooms
    public import RoomCore

    /// The options of `ChatView`: the displayed names and texts.
    ///
    /// ```swift
    /// ChatView(chat, options: ChatOptions { user in contacts[user.text]?.name })
    /// ```
    public struct ChatOptions: Sendable {
        /// Returns the display name of a user; nil: the user's id.
        ///
        /// It is called whenever the chat is drawn, so it should look the name up and not fetch it. At most 64 characters of a name are shown,
        /// and invisible characters are escaped. If two users of a chat would have the same name, both are shown with their ids.
        public var displayName: @Sendable (UserName) -> String?
        /// Returns the text for a key of `Localizable.strings` in this package, such as `chat.send`; nil: the package's text.
        ///
        /// The package has English and German texts. `%1$@`, `%2$@`… are placeholders for arguments.
        public var translation: @Sendable (_ key: String) -> String?

        /// Creates options; by default ids as names, and the package's texts.
        public init(
            displayName: @escaping @Sendable (UserName) -> String? = { _ in nil },
            translation: @escaping @Sendable (_ key: String) -> String? = { _ in nil }
        ) {
            (self.displayName, self.translation) = (displayName, translation)
        }
    }

    /// One line of a transcript.
    enum ChatLine: Identifiable, Hashable {
        /// The identity of a line.
        enum ID: Hashable {
            case day(before: ChatMessageID)
            case message(ChatMessageID)
        }

        /// A new day, given by a time on it in milliseconds since 1970 UTC; the messages from here on are of this day.
        case day(Int64, before: ChatMessageID)
        /// A message, and whether it is the first and the last of its group.
        case message(ChatMessage, isFirst: Bool, isLast: Bool)

        var id: ID {
            switch self {
            case .day(_, let message): .day(before: message)
            case .message(let message, _, _): .message(message.id)
            }
        }

        /// The maximum time between grouped messages of one user; a group has the name above its first and the time below its last.
        static let gap: Int64 = 5 * 60 * 1000

        /// Returns the lines for messages, in their order.
        ///
        /// Times come from the authors' clocks, so times and days may go backwards.
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
        /// The maximum number of characters shown of a name.
        static let limit = 64

        private let words: Words
        private let displayName: @Sendable (UserName) -> String?
        /// Names of more than one user, or names that equal the text for oneself or an unknown user.
        private let ambiguous: Set<String>

        /// Creates the names for the users of one chat.
        init(_ users: some Sequence<UserName>, _ words: Words, _ displayName: @escaping @Sendable (UserName) -> String?) {
            (self.words, self.displayName) = (words, displayName)
            var (seen, ambiguous) = (Set<String>(), Set([Self.folded(words(.you)), Self.folded(words(.somebody))]))
            for user in Set(users) where !seen.insert(Self.folded(Self.plain(user, displayName))).inserted {
                ambiguous.insert(Self.folded(Self.plain(user, displayName)))
            }
            self.ambiguous = ambiguous
        }

        /// Creates the names for the users who wrote, are present or type.
        @MainActor init(_ model: some ChatPresenting, _ words: Words, _ displayName: @escaping @Sendable (UserName) -> String?) {
            self.init(model.messages.compactMap(\.user) + model.people.map(\.user) + model.typing, words, displayName)
        }

        /// Returns the name of a user, with the id if the name alone is ambiguous.
        func name(of user: UserName) -> String {
            let (name, id) = (Self.plain(user, displayName), user.text.escapedAsName)
            return name != id && ambiguous.contains(Self.folded(name)) ? "\(name) (\(id))" : name
        }

        /// Returns the name of a message's author.
        func author(of message: ChatMessage) -> String {
            message.isOwn ? words(.you) : message.user.map { name(of: $0) } ?? words(.somebody)
        }

        /// Returns the names of several users, separated by commas.
        func list(_ users: [UserName]) -> String { users.map { name(of: $0) }.joined(separator: ", ") }

        /// Returns the text about the users who type; nil if there is none.
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

    /// The sentence that VoiceOver reads for a message: author, time, text, edits, reactions and delivery.
    struct ChatSpeech {
        let words: Words
        let names: ChatNames
        /// Returns the spoken time of day for milliseconds since 1970 UTC.
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
