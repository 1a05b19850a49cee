import HoldfastRooms
import RoomCore
import Testing

@testable import HoldfastUI

@Suite struct ChatSpeechTests {
    private let speech = ChatSpeech(words: .english, names: ChatNames([], .english) { _ in "Ann" }) { "\($0 / 1000) o'clock" }

    @Test func `a message is spoken as author, time and text`() throws {
        #expect(speech.sentence(try chatMessage(1, "u1", at: 12_000, "Hello")) == "Ann, 12 o'clock: Hello")
    }

    @Test func `an own message is spoken with its delivery status`() throws {
        var message = try chatMessage(1, "u1", at: 12_000, own: true, "Hello")
        for (delivery, words) in [
            (ChatDelivery.queued, "waiting"), (.seen(2), "seen by 2 people"), (.failed("too long"), "not sent: too long"),
        ] {
            message.delivery = delivery
            #expect(speech.sentence(message) == "You, 12 o'clock: Hello, \(words)")
        }
    }

    @Test func `edits and reactions are spoken`() throws {
        var message = try chatMessage(1, "u1", at: 12_000, "Hello")
        message.isEdited = true
        let users = try ["a", "b"].map { try #require(UserName($0)) }
        message.reactions = [
            ChatReaction(key: "👍", users: users, isOwn: false), ChatReaction(key: "❤️", users: Array(users.prefix(1)), isOwn: true),
            ChatReaction(key: "🎉", users: [], isOwn: false),
        ]
        #expect(speech.sentence(message) == "Ann, 12 o'clock: Hello, edited, 👍 from 2 people, ❤️ from one person")
    }

    @Test func `a deleted message is spoken as deleted, without its text and edits`() throws {
        var message = try chatMessage(1, "u1", at: 12_000, "Hello")
        (message.isDeleted, message.isEdited) = (true, true)
        #expect(speech.sentence(message) == "Ann, 12 o'clock: deleted message")
    }
}
