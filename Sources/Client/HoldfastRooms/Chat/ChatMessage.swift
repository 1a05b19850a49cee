public import RoomCore

/// The identity of a message within a chat.
public enum ChatMessageID: Hashable, Sendable {
    /// A message of this device, by its message ID, which stays the same before and after it is stored.
    case own(MessageID)
    /// Any other message, by its sequence number in the room: a publisher chooses message IDs, and may reuse one that it has read.
    case stored(Int64)
}

/// A message as a chat view shows it.
public struct ChatMessage: Identifiable, Hashable, Sendable {
    /// The identity of the message within the chat.
    public internal(set) var id: ChatMessageID
    /// The message ID that the author gave it.
    public var messageID: MessageID
    /// The sequence number of the message in the room; nil while it is not known to be stored.
    public var seq: Int64?
    /// The author; nil for an own message until the hub has sent our user name.
    public var user: UserName?
    /// Whether the own user wrote it.
    public var isOwn: Bool
    /// The text of the message; empty if it was deleted.
    public var text: String
    /// When the message was sent, in milliseconds since 1970 UTC.
    public var at: Int64
    /// Whether the text was changed after it was sent.
    public var isEdited = false
    /// Whether the message was deleted; it keeps its place in the list.
    public var isDeleted = false
    /// Whether the user can edit the message: it is an own text message that is stored and not deleted.
    public var isEditable = false
    /// The reactions to the message, in the order of their keys' first use.
    public var reactions: [ChatReaction] = []
    /// The delivery state of an own message; nil for messages of others.
    public var delivery: ChatDelivery?

    /// Creates a message.
    ///
    /// - Parameters:
    ///   - id: The message ID that the author gave it.
    ///   - seq: The sequence number in the room; nil while the message waits on this device.
    ///   - user: The author.
    ///   - isOwn: Whether the own user wrote it.
    ///   - text: The text of the message.
    ///   - at: When the message was sent, in milliseconds since 1970 UTC.
    public init(id: MessageID, seq: Int64?, user: UserName?, isOwn: Bool, text: String, at: Int64) {
        (messageID, self.seq, self.user, self.isOwn, self.text, self.at) = (id, seq, user, isOwn, text, at)
        self.id = seq.map { .stored($0) } ?? .own(id)
    }
}

/// A reaction to a message, with the users who set it.
public struct ChatReaction: Identifiable, Hashable, Sendable {
    /// The reaction, such as an emoji.
    public var key: String
    /// The users who set this reaction, in the order in which they reacted.
    public var users: [UserName]
    /// Whether the own user is among them.
    public var isOwn: Bool

    /// The key.
    public var id: String { key }

    /// Creates a reaction.
    public init(key: String, users: [UserName], isOwn: Bool) { (self.key, self.users, self.isOwn) = (key, users, isOwn) }
}

/// The delivery state of an own message, for display.
public enum ChatDelivery: Hashable, Sendable {
    /// The message waits on this device.
    case queued
    /// The message was sent, and is not confirmed yet.
    case sent
    /// The hub has stored the message.
    case stored
    /// The given number of other users have read the message.
    case seen(Int)
    /// The message was not sent; the text gives the reason.
    case failed(String)

    /// A short label for the state, in English.
    public var label: String {
        switch self {
        case .queued: "waiting"
        case .sent: "sent"
        case .stored: "stored"
        case .seen(let count): count == 1 ? "seen by 1" : "seen by \(count)"
        case .failed(let reason): "not sent: \(reason)"
        }
    }

    /// The name of an SF Symbol for the state.
    public var symbol: String {
        switch self {
        case .queued: "clock"
        case .sent: "checkmark"
        case .stored: "checkmark.circle"
        case .seen: "checkmark.circle.fill"
        case .failed: "exclamationmark.triangle.fill"
        }
    }

    /// One or two characters that show the state in a terminal.
    public var tick: String {
        switch self {
        case .queued: "…"
        case .sent: "↑"
        case .stored: "✓"
        case .seen: "✓✓"
        case .failed: "✗"
        }
    }
}

/// The state of a chat's connection to its hub, for display.
public enum ChatConnection: Hashable, Sendable {
    /// The client is connecting, or is fetching missed entries.
    case connecting
    /// The chat is up to date.
    case live
    /// There is no connection; messages wait in the outbox.
    case offline
    /// The chat has ended; the text gives the reason, and is nil if the app asked for it.
    case closed(String?)

    /// A short label for the state, in English.
    public var label: String {
        switch self {
        case .connecting: "connecting"
        case .live: "connected"
        case .offline: "offline, messages wait"
        case .closed(let reason): reason ?? "closed"
        }
    }

    /// The name of an SF Symbol for the state.
    public var symbol: String {
        switch self {
        case .connecting: "arrow.triangle.2.circlepath"
        case .live: "checkmark.circle.fill"
        case .offline: "wifi.slash"
        case .closed: "xmark.circle"
        }
    }
}
