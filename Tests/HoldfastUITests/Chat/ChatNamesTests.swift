import HoldfastRooms
import RoomCore
import Testing

@testable import HoldfastUI

@Suite struct ChatNamesTests {
    private func user(_ text: String) throws -> UserName { try #require(UserName(text)) }

    private func names(_ users: [String], _ display: [String: String] = [:]) throws -> ChatNames {
        ChatNames(try users.map { try user($0) }, .english) { display[$0.text] }
    }

    @Test func `a user is shown with the app's name, or without one with the ID`() throws {
        let names = try names(["u1", "u2"], ["u1": "Ann"])
        #expect(names.name(of: try user("u1")) == "Ann")
        #expect(names.name(of: try user("u2")) == "u2")
    }

    @Test func `users with one name are distinguished by their IDs, whatever the case of the names`() throws {
        let names = try names(["u1", "u2", "u3"], ["u1": "Ann", "u2": "ANN", "u3": "Bob"])
        #expect(names.name(of: try user("u1")) == "Ann (u1)")
        #expect(names.name(of: try user("u2")) == "ANN (u2)")
        #expect(names.name(of: try user("u3")) == "Bob")
    }

    @Test func `a user's name cannot imitate another user's ID or the reader`() throws {
        let names = try names(["ann", "u2", "u3", "u4"], ["u2": "Ann", "u3": "You", "u4": " somebody "])
        #expect(names.name(of: try user("ann")) == "ann")
        #expect(names.name(of: try user("u2")) == "Ann (u2)")
        #expect(names.name(of: try user("u3")) == "You (u3)")
        #expect(names.name(of: try user("u4")) == "somebody (u4)")
    }

    @Test func `a user who is listed twice is one user`() throws {
        #expect(try names(["u1", "u1"], ["u1": "Ann"]).name(of: try user("u1")) == "Ann")
    }

    @Test func `a shown name is one line of limited length, with invisible characters written out`() throws {
        let names = try names(
            ["u1", "u2", "u3", "u4"],
            ["u1": " Ann\n\n  of  Cleves ", "u2": String(repeating: "x", count: 1000), "u3": "a\u{202E}b", "u4": " \n "])
        #expect(names.name(of: try user("u1")) == "Ann of Cleves")
        #expect(names.name(of: try user("u2")).count == ChatNames.limit)
        #expect(!names.name(of: try user("u3")).unicodeScalars.contains("\u{202E}"))
        #expect(names.name(of: try user("u4")) == "u4")
    }

    @Test func `an author is the reader, a user, or unknown`() throws {
        let names = try names(["u1"], ["u1": "Ann"])
        #expect(names.author(of: try chatMessage(1, "u1", at: 0)) == "Ann")
        #expect(names.author(of: try chatMessage(1, "u1", at: 0, own: true)) == "You")
        #expect(names.author(of: try chatMessage(1, nil, at: 0)) == "Somebody")
    }

    @Test func `typing users are shown for one, two and more`() throws {
        let names = try names(["a", "b", "c"])
        let users = try ["a", "b", "c"].map { try user($0) }
        #expect(names.typing([]) == nil)
        #expect(names.typing(Array(users.prefix(1))) == "a is typing")
        #expect(names.typing(Array(users.prefix(2))) == "a and b are typing")
        #expect(names.typing(users) == "several people are typing")
        #expect(names.list(users) == "a, b, c")
    }
}
