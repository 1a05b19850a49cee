public import Observation
public import RoomCore

/// What a view of a chat shows, and asks for: ``ChatModel``, or a stand-in for previews.
@MainActor public protocol ChatPresenting: AnyObject, Observable, Sendable {
    /// The room's name.
    var title: String { get }
    /// The messages in order, those that wait last.
    var messages: [ChatMessage] { get }
    /// Who is present, by name; the own user is among them, and marked.
    var people: [ChatPerson] { get }
    /// Who types.
    var typing: [UserName] { get }
    /// How it stands with the hub.
    var connection: ChatConnection { get }
    /// How many messages of others were not read.
    var unread: Int { get }
    /// Whether there are older messages to load.
    var hasEarlier: Bool { get }
    /// Whether older messages are being loaded.
    var isLoadingEarlier: Bool { get }
    /// What went wrong last, for people; nil: nothing, or it was put away.
    var problem: String? { get set }
    /// What is being written; others see that somebody types.
    var draft: String { get set }

    /// Sends what was written.
    func send() async
    /// Loads older messages.
    func loadEarlier() async
    /// Says that the user sees the last message.
    func markRead()
    /// Sends a failed message after all.
    func retry(_ message: ChatMessage)
    /// Gives up a message that is not stored.
    func discard(_ message: ChatMessage)
    /// Changes what a message says.
    func edit(_ message: ChatMessage, to text: String) async
    /// Deletes a message.
    func delete(_ message: ChatMessage) async
    /// Sets the own reaction to a message, or takes it back if it is set.
    func react(to message: ChatMessage, _ key: String) async
}
