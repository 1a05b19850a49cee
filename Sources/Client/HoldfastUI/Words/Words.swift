/// Says phrases in the language of a translation.
struct Words: Sendable {
    /// The text for a key; nil: there is none.
    let translation: @Sendable (_ key: String) -> String?

    /// In English.
    static let english = Words { _ in nil }

    /// The text of a phrase, with these put in for `%1$@`, `%2$@` and so on.
    func callAsFunction(_ phrase: Phrase, _ arguments: String...) -> String {
        Self.fill(translation(phrase.rawValue) ?? phrase.english, arguments)
    }

    /// In one pass: what is put in is text, whatever it looks like.
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

    /// How a connection is.
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

/// What the views of HoldfastUI say, by the key under which a translation has it.
///
/// `%1$@`, `%2$@`… stand for what is put in: names, times, counts. The English texts are the ones of `en.lproj/Localizable.strings`, too.
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

    /// The text, in English.
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
