#if canImport(SwiftUI)
    import Foundation
#endif

#if Rooms
    import HoldfastRooms
#endif

/// Returns the texts of phrases in the language of a translation.
struct Words: Sendable {
    /// Returns the text for a key; nil if there is none.
    let translation: @Sendable (_ key: String) -> String?

    /// The English texts.
    static let english = Words { _ in nil }

    /// Returns the text of a phrase with the arguments in place of `%1$@`, `%2$@` and so on.
    func callAsFunction(_ phrase: Phrase, _ arguments: String...) -> String {
        Self.fill(translation(phrase.rawValue) ?? phrase.english, arguments)
    }

    /// Replaces the placeholders in one pass, so that arguments that look like placeholders stay unchanged.
    static func fill(_ text: String, _ arguments: [String]) -> String {
        var (filled, rest) = ("", text[...])
        while let percent = rest.firstIndex(of: "%") {
            filled += rest[..<percent]
            let place = rest[percent...].prefix(4)
            let number = place.dropFirst().first?.wholeNumberValue
            if place.count == 4, place.hasSuffix("$@"), let number, arguments.indices ~= number - 1 {
                filled += arguments[number - 1]
                rest = rest[place.endIndex...]
            } else {
                filled += "%"
                rest = rest[rest.index(after: percent)...]
            }
        }
        return filled + rest
    }

    /// Returns the text for a connection status.
    func label(_ status: ConnectionStatus) -> String {
        switch status {
        case .connecting: self(.connecting)
        case .connected: self(.connected)
        case .reconnecting(let seconds): self(.reconnectingIn, "\(seconds)")
        case .offline: self(.offline)
        case .closed(let isFailure): self(isFailure ? .failed : .closed)
        }
    }
}

/// The phrases of the views of HoldfastUI; the raw value is the key in a translation.
///
/// `%1$@`, `%2$@`… are placeholders for names, times and counts. The English texts are the same as in `en.lproj/Localizable.strings`.
enum Phrase: String, CaseIterable, Sendable {
    case you = "chat.you"
    case somebody = "chat.somebody"
    case deleted = "chat.deleted"
    case edited = "chat.edited"
    case message = "chat.message"
    case send = "chat.send"
    case save = "chat.save"
    case cancel = "chat.cancel"
    case edit = "chat.edit"
    case delete = "chat.delete"
    case tryAgain = "chat.try-again"
    case discard = "chat.discard"
    case dismiss = "chat.dismiss"
    case loadEarlier = "chat.load-earlier"
    case nobodyElse = "chat.nobody-else"
    case typingOne = "chat.typing.one"
    case typingTwo = "chat.typing.two"
    case typingMany = "chat.typing.many"
    case today = "chat.today"
    case yesterday = "chat.yesterday"
    case reactWith = "chat.react-with"
    case spokenMessage = "chat.spoken.message"
    case spokenReactionOne = "chat.spoken.reaction.one"
    case spokenReactionMany = "chat.spoken.reaction.many"
    case queued = "delivery.queued"
    case sent = "delivery.sent"
    case stored = "delivery.stored"
    case seenByOne = "delivery.seen.one"
    case seenByMany = "delivery.seen.many"
    case notSent = "delivery.not-sent"
    case connecting = "connection.connecting"
    case connected = "connection.connected"
    case reconnectingIn = "connection.reconnecting-in"
    case offline = "connection.offline"
    case offlineMessagesWait = "connection.offline-messages-wait"
    case closed = "connection.closed"
    case failed = "connection.failed"

    /// The English text.
    var english: String {
        switch self {
        case .you: "You"
        case .somebody: "Somebody"
        case .deleted: "deleted message"
        case .edited: "edited"
        case .message: "Message"
        case .send: "Send"
        case .save: "Save"
        case .cancel: "Cancel"
        case .edit: "Edit"
        case .delete: "Delete"
        case .tryAgain: "Try again"
        case .discard: "Discard"
        case .dismiss: "Dismiss"
        case .loadEarlier: "Load earlier messages"
        case .nobodyElse: "nobody else is here"
        case .typingOne: "%1$@ is typing"
        case .typingTwo: "%1$@ and %2$@ are typing"
        case .typingMany: "several people are typing"
        case .today: "Today"
        case .yesterday: "Yesterday"
        case .reactWith: "React with %1$@"
        case .spokenMessage: "%1$@, %2$@: %3$@"
        case .spokenReactionOne: "%1$@ from one person"
        case .spokenReactionMany: "%1$@ from %2$@ people"
        case .queued: "waiting"
        case .sent: "sent"
        case .stored: "stored"
        case .seenByOne: "seen by one person"
        case .seenByMany: "seen by %1$@ people"
        case .notSent: "not sent: %1$@"
        case .connecting: "connecting"
        case .connected: "connected"
        case .reconnectingIn: "reconnecting in %1$@ s"
        case .offline: "offline"
        case .offlineMessagesWait: "offline, messages wait"
        case .closed: "closed"
        case .failed: "connection failed"
        }
    }
}

#if canImport(SwiftUI)
    extension Words {
        /// The texts in the app's language, if this package has it (English and German).
        static let system = system { _ in nil }

        /// Returns texts that use the app's own texts first, then those of this package.
        static func system(overriding own: @escaping @Sendable (_ key: String) -> String?) -> Words {
            Words { key in
                if let text = own(key) { return text }
                // The function returns the key if there is no text.
                let text = Bundle.module.localizedString(forKey: key, value: nil, table: nil)
                return text == key ? nil : text
            }
        }
    }
#endif

#if Rooms
    extension Words {
        /// Returns the text for the delivery state of an own message.
        func label(_ delivery: ChatDelivery) -> String {
            switch delivery {
            case .queued: self(.queued)
            case .sent: self(.sent)
            case .stored: self(.stored)
            case .seen(1): self(.seenByOne)
            case .seen(let count): self(.seenByMany, "\(count)")
            case .failed(let reason): self(.notSent, reason)
            }
        }

        /// Returns the text for a chat's connection to its hub; a close reason is shown as the hub sent it.
        func label(_ connection: ChatConnection) -> String {
            switch connection {
            case .connecting: self(.connecting)
            case .live: self(.connected)
            case .offline: self(.offlineMessagesWait)
            case .closed(let reason): reason ?? self(.closed)
            }
        }
    }
#endif
