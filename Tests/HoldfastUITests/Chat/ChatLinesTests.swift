import HoldfastRooms
import RoomCore
import Testing

@testable import HoldfastUI

@Suite struct ChatLinesTests {
    private static let utc = ChatCalendar { _ in 0 }
    private static let minute: Int64 = 60_000
    private static let day: Int64 = 86_400_000

    /// The lines in a short notation: `day`, or a message's number, with `[` before the first and `]` after the last of a group.
    private func layout(_ messages: [ChatMessage], _ calendar: ChatCalendar = utc) -> String {
        ChatLine.lines(for: messages, calendar).map { line in
            switch line {
            case .day: "day"
            case .message(let message, let isFirst, let isLast): "\(isFirst ? "[" : "")\(message.seq ?? 0)\(isLast ? "]" : "")"
            }
        }.joined(separator: " ")
    }

    @Test func `no messages give no lines`() {
        #expect(ChatLine.lines(for: [], Self.utc).isEmpty)
    }

    @Test func `messages of one user within five minutes form a group`() throws {
        let messages = try [
            chatMessage(1, "a", at: 0), chatMessage(2, "a", at: 5 * Self.minute), chatMessage(3, "a", at: 10 * Self.minute + 1),
            chatMessage(4, "b", at: 11 * Self.minute), chatMessage(5, "b", at: 12 * Self.minute), chatMessage(6, "b", at: 13 * Self.minute),
        ]
        #expect(layout(messages) == "day [1 2] [3] [4 5 6]")
    }

    @Test func `a message whose clock is far behind starts a new group`() throws {
        let messages = try [
            chatMessage(1, "a", at: 10 * Self.minute), chatMessage(2, "a", at: 6 * Self.minute), chatMessage(3, "a", at: 0),
        ]
        #expect(layout(messages) == "day [1 2] [3]")
    }

    @Test func `own messages form a group before the welcome`() throws {
        var waiting = try chatMessage(2, nil, at: 1000, own: true)
        waiting.seq = nil
        #expect(layout([try chatMessage(1, "me", at: 0, own: true), waiting]) == "day [1 0]")
        #expect(layout([try chatMessage(1, nil, at: 0), waiting]) == "day [1] [0]")
    }

    @Test func `every change of the day, also backwards, has a heading and ends the group`() throws {
        let messages = try [
            chatMessage(1, "a", at: Self.day - 1), chatMessage(2, "a", at: Self.day), chatMessage(3, "a", at: Self.day + 1),
            chatMessage(4, "a", at: Self.day - 1),
        ]
        #expect(layout(messages) == "day [1] day [2 3] day [4]")
        #expect(Set(ChatLine.lines(for: messages, Self.utc).map(\.id)).count == 7)
    }

    @Test func `days change at midnight in the reader's time zone`() throws {
        let messages = try [chatMessage(1, "a", at: Self.day - 60 * Self.minute), chatMessage(2, "a", at: Self.day - 58 * Self.minute)]
        #expect(layout(messages) == "day [1 2]")
        #expect(layout(messages, ChatCalendar { _ in 3600 }) == "day [1 2]")
        #expect(layout(messages, ChatCalendar { _ in 3540 }) == "day [1] day [2]")
    }

    @Test func `extreme message times do not trap`() throws {
        let messages = try [Int64.min, .max, 0, -1].enumerated().map { try chatMessage(Int64($0.offset + 1), "a", at: $0.element) }
        #expect(layout(messages) == "day [1] day [2] day [3 4]")
    }
}
