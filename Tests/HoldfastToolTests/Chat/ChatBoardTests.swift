import HoldfastRooms
import HoldfastTerminal
import RoomCore
import Testing

@testable import HoldfastTool

@Suite struct ChatBoardTests {
    private func message(_ number: UInt64, _ text: String, own: Bool = false, _ delivery: ChatDelivery? = nil) throws -> ChatMessage {
        var message = ChatMessage(
            id: MessageID(Bits128(high: 0x7000, low: 1 << 63 | number)), seq: delivery == .queued ? nil : Int64(number),
            user: try #require(UserName(own ? "ann" : "bob")), isOwn: own, text: text, at: 0)
        message.delivery = delivery
        return message
    }

    /// The rows without the time, which is the machine's.
    private func rows(_ message: ChatMessage, columns: Int = 40) -> [String] {
        ChatBoard.rows(of: message, columns: columns, .plain).map { String($0.dropFirst(6)) }
    }

    @Test func `a message says who, what, and what has become of it`() throws {
        #expect(rows(try message(1, "hi")) == ["bob: hi"])
        #expect(rows(try message(2, "hi", own: true, .queued)) == ["you: hi …"])
        #expect(rows(try message(2, "hi", own: true, .stored)) == ["you: hi ✓"])
        #expect(rows(try message(2, "hi", own: true, .seen(2))) == ["you: hi ✓✓"])
        #expect(rows(try message(2, "hi", own: true, .failed("no right"))).last?.hasSuffix("no right") == true)
    }

    @Test func `edits, reactions and deletions are to be seen`() throws {
        var message = try message(1, "hi")
        message.isEdited = true
        message.reactions = [ChatReaction(key: "👍", users: [try #require(UserName("ann")), try #require(UserName("cy"))], isOwn: true)]
        #expect(rows(message) == ["bob: hi 👍2 (edited)"])
        message.isDeleted = true
        message.reactions = []
        #expect(rows(message)[0].hasPrefix("bob: (deleted)"))
    }

    @Test func `long texts are wrapped between words, and words that are too long are cut`() {
        #expect(ChatBoard.wrapped("one two three", 8) == ["one two", "three"])
        #expect(ChatBoard.wrapped("abcdefghij", 4) == ["abcd", "efgh", "ij"])
        #expect(ChatBoard.wrapped("日本語", 4) == ["日本", "語"])
        #expect(ChatBoard.wrapped("", 4) == [""])
        #expect(ChatBoard.wrapped("a\nb", 4) == ["a", "b"])
        #expect(ChatBoard.wrapped("if x\n  y", 8) == ["if x", "  y"])
    }

    @Test func `a tab takes the columns that are counted for it`() throws {
        #expect(rows(try message(1, "a\tb")) == ["bob: a    b"])
    }

    @Test func `what others write cannot drive the terminal`() throws {
        let shown = rows(try message(1, "\u{1B}[2Jgone\r\nbob: fake")).joined()
        #expect(!shown.contains("\u{1B}") && !shown.contains("\r"))
    }

    @Test func `a picture fits the terminal, and has its last messages above the prompt`() throws {
        var board = ChatBoard(style: .plain)
        var picture = ChatBoard.Picture(title: "lobby", people: ["ann", "bob"], connection: .live, roundTrip: .milliseconds(3))
        picture.messages = try (1...30).map { try message(UInt64($0), "message \($0)") }
        picture.typing = ["bob"]
        for (columns, height) in [(40, 10), (80, 24), (30, 5)] {
            let lines = board.lines(picture, columns: columns, height: height)
            #expect(lines.count == height)
            #expect(lines.allSatisfy { $0.columns <= columns })
            #expect(lines[height - 3].contains("message 30") && lines[height - 2].contains("bob is typing"))
        }
        let first = board.lines(picture, columns: 60, height: 10)[0]
        #expect(first.contains("lobby  ann, bob") && first.contains("connected  rtt 3 ms"))
    }

    @Test func `keys write, send, scroll back and end`() throws {
        var board = ChatBoard(style: .plain)
        #expect(board.press(.text("hi")) == nil && board.press(.enter) == .send("hi") && board.line.isEmpty)
        #expect(board.press(.text("  ")) == nil && board.press(.enter) == nil)
        #expect(board.press(.control("c")) == nil && board.line.isEmpty)
        #expect(board.press(.control("c")) == .leave)
        var picture = ChatBoard.Picture()
        picture.messages = try (1...30).map { try message(UInt64($0), "message \($0)") }
        _ = board.lines(picture, columns: 40, height: 10)
        #expect(board.press(.up) == .loadEarlier)
        #expect(!board.lines(picture, columns: 40, height: 10).joined().contains("message 30"))
        #expect(board.press(.down) == nil)
        #expect(board.lines(picture, columns: 40, height: 10).joined().contains("message 30"))
    }

    @Test func `the prompt shows what is at the cursor, of a line of any length`() {
        var board = ChatBoard(style: .plain)
        _ = board.press(.paste(String(repeating: "x", count: 100_000) + "日本"))
        var last = board.lines(ChatBoard.Picture(), columns: 20, height: 6)[5]
        #expect(last == "> xxxxxxxxxxxxx日本" && board.cursor == 19)
        _ = board.press(.home)
        last = board.lines(ChatBoard.Picture(), columns: 20, height: 6)[5]
        #expect(last == "> xxxxxxxxxxxxxxxxx" && board.cursor == 2)
    }

    @Test func `what comes later does not move what is being read`() throws {
        var board = ChatBoard(style: .plain)
        var picture = ChatBoard.Picture()
        picture.messages = try (1...30).map { try message(UInt64($0), "message \($0)") }
        _ = board.lines(picture, columns: 40, height: 10)
        _ = board.press(.pageUp)
        let before = board.lines(picture, columns: 40, height: 10)[2..<8]
        picture.messages.append(try message(31, "of two\nrows"))
        let lines = board.lines(picture, columns: 40, height: 10)
        #expect(Array(lines[2..<8]) == Array(before) && lines[8].hasPrefix("5 rows below"))
    }

    @Test func `what was not taken comes back, unless something else is being written`() {
        var board = ChatBoard(style: .plain)
        board.restore("one")
        #expect(board.line.text == "one")
        board.restore("two")
        #expect(board.line.text == "one")
    }

    @Test func `what has failed asks what is to become of it`() throws {
        var board = ChatBoard(style: .plain)
        var picture = ChatBoard.Picture()
        picture.messages = [try message(2, "hi", own: true, .failed("no right"))]
        #expect(board.lines(picture, columns: 60, height: 6)[4] == "1 not sent: Control-R sends again, Control-X discards")
        #expect(board.press(.control("r")) == .retry && board.press(.control("x")) == .discard)
    }

    @Test(arguments: 1...6) func `no terminal is too small`(size: Int) throws {
        var board = ChatBoard(style: .plain)
        var picture = ChatBoard.Picture(title: "lobby", people: ["ann"], connection: .live, problem: "no")
        picture.messages = [try message(1, "日本語 and more")]
        _ = board.press(.text("日本"))
        #expect(board.lines(picture, columns: size, height: size).count == size)
    }
}
