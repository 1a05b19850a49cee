public import Observation
public import RoomCore

/// The data and actions of a chat view: implemented by ``ChatModel``, or by a stand-in for previews.
@MainActor public protocol ChatPresenting: AnyObject, Observable, Sendable {
    /// The room's name.
    var title: String { get }
    /// The messages in order; those that wait in the outbox come last.
    var messages: [ChatMessage] { get }
    /// The people present, sorted by name; the own user is among them, and is marked.
    var people: [ChatPerson] { get }
    /// The users who are typing.
    var typing: [UserName] { get }
    /// The state of the connection to the hub.
    var connection: ChatConnection { get }
    /// The number of unread messages of other users.
    var unread: Int { get }
    /// Whether there are older messages to load.
    var hasEarlier: Bool { get }
    /// Whether older messages are being loaded.
    var isLoadingEarlier: Bool { get }
    /// The last problem, as a text for the user; nil if there is none, or if it was dismissed.
    var problem: String? { get set }
    /// The text being written; while it is not empty, others see that the user is typing.
    var draft: String { get set }

    /// Sends the draft.
    func send() async
    /// Loads older messages.
    func loadEarlier() async
    /// Marks all messages as read.
    func markRead()
    /// Sends a failed message again.
    func retry(_ message: ChatMessage)
    /// Discards a message that is not stored yet.
    func discard(_ message: ChatMessage)
    /// Replaces the text of a message.
    func edit(_ message: ChatMessage, to text: String) async
    /// Deletes a message.
    func delete(_ message: ChatMessage) async
    /// Sets the own reaction to a message, or removes it if it is set.
    func react(to message: ChatMessage, _ key: String) async
}

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

/// A user who is present in a chat; see ``ChatPresenting/people``.
public struct ChatPerson: Identifiable, Hashable, Sendable {
    /// The user's name.
    public var user: UserName
    /// Whether this is the own user, on this device or on another.
    public var isOwn: Bool

    /// The user's name.
    public var id: UserName { user }

    /// Creates a person.
    public init(user: UserName, isOwn: Bool) { (self.user, self.isOwn) = (user, isOwn) }
}
