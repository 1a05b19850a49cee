public import RoomCore

/// What tells a message from all others of a chat.
public enum ChatMessageID: Hashable, Sendable {
    /// One of this device, by its name: the same before and after it is stored.
    case own(MessageID)
    /// Any other, by its place in the room's order: a name is chosen by who publishes, who may choose one that he has read.
    case stored(Int64)
}

/// A message as a chat shows it.
public struct ChatMessage: Identifiable, Hashable, Sendable {
    /// What tells it from all others.
    public internal(set) var id: ChatMessageID
    /// The name that its author gave it.
    public var messageID: MessageID
    /// Its place in the room's order; nil: it is not known to be stored.
    public var seq: Int64?
    /// Who wrote it; nil: we, before the hub has said who that is.
    public var user: UserName?
    /// Whether the own user wrote it.
    public var isOwn: Bool
    /// What it says; empty if it is deleted.
    public var text: String
    /// When, in milliseconds since 1970 UTC.
    public var at: Int64
    /// Whether it says something else than at first.
    public var isEdited = false
    /// Whether it was deleted; its place remains.
    public var isDeleted = false
    /// Whether it is an own text that is stored, so that it can be changed.
    public var isEditable = false
    /// What people think of it, the first key first.
    public var reactions: [ChatReaction] = []
    /// What has become of it; nil of what others wrote.
    public var delivery: ChatDelivery?

    /// A message.
    ///
    /// - Parameters:
    ///   - id: The name that its author gave it.
    ///   - seq: Its place in the room's order; nil: it waits on this device.
    ///   - user: Who wrote it.
    ///   - isOwn: Whether the own user wrote it.
    ///   - text: What it says.
    ///   - at: When, in milliseconds since 1970 UTC.
    public init(id: MessageID, seq: Int64?, user: UserName?, isOwn: Bool, text: String, at: Int64) {
        (messageID, self.seq, self.user, self.isOwn, self.text, self.at) = (id, seq, user, isOwn, text, at)
        self.id = seq.map { .stored($0) } ?? .own(id)
    }
}

/// A reaction to a message, and whose it is.
public struct ChatReaction: Identifiable, Hashable, Sendable {
    /// Such as an emoji.
    public var key: String
    /// Whose, in the order in which they reacted.
    public var users: [UserName]
    /// Whether the own user is among them.
    public var isOwn: Bool

    /// The key.
    public var id: String { key }

    /// A reaction.
    public init(key: String, users: [UserName], isOwn: Bool) { (self.key, self.users, self.isOwn) = (key, users, isOwn) }
}

/// What has become of an own message, as people see it.
public enum ChatDelivery: Hashable, Sendable {
    /// It waits on this device.
    case queued
    /// It is on its way.
    case sent
    /// The hub has it.
    case stored
    /// So many others have read it.
    case seen(Int)
    /// It was not sent; why.
    case failed(String)

    /// A word for it, in English.
    public var label: String {
        switch self {
        case .queued: "waiting"
        case .sent: "sent"
        case .stored: "stored"
        case .seen(let count): count == 1 ? "seen by 1" : "seen by \(count)"
        case .failed(let reason): "not sent: \(reason)"
        }
    }

    /// The name of an SF Symbol that says it.
    public var symbol: String {
        switch self {
        case .queued: "clock"
        case .sent: "checkmark"
        case .stored: "checkmark.circle"
        case .seen: "checkmark.circle.fill"
        case .failed: "exclamationmark.triangle.fill"
        }
    }

    /// One or two characters for a terminal.
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

/// How a chat stands with its hub, as people see it.
public enum ChatConnection: Hashable, Sendable {
    /// A connection is being made, or what was missed comes in.
    case connecting
    /// Everything is here.
    case live
    /// There is no connection; what is written waits.
    case offline
    /// Nothing more comes; why, if that was not asked for.
    case closed(String?)

    /// A few words, in English.
    public var label: String {
        switch self {
        case .connecting: "connecting"
        case .live: "connected"
        case .offline: "offline, messages wait"
        case .closed(let reason): reason ?? "closed"
        }
    }

    /// The name of an SF Symbol that says it.
    public var symbol: String {
        switch self {
        case .connecting: "arrow.triangle.2.circlepath"
        case .live: "checkmark.circle.fill"
        case .offline: "wifi.slash"
        case .closed: "xmark.circle"
        }
    }
}
