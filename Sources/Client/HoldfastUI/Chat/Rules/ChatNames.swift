#if Rooms
    import HoldfastRooms
    import RoomCore

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
#endif
