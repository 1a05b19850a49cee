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
