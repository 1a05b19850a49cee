#if Rooms
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
#endif
