import Testing
import WebSocketCore

@testable import HoldfastTool

@Suite struct MessageFormatTests {
    private let terminal = MessageFormat(isForTerminal: true)
    private let pipe = MessageFormat(isForTerminal: false)

    @Test func `a terminal gets marks and escapes, a pipe gets the text`() {
        let message = Message.text("a\nb\u{1B}")
        #expect(terminal.text(of: message, .received) == "< a\n  b\\u{1B}")
        #expect(terminal.text(of: .text("x"), .sent, stamp: "12:00:00.000") == "12:00:00.000 > x")
        #expect(pipe.text(of: message, .received) == "a\nb\u{1B}")
    }

    @Test func `binary messages are previewed or dumped`() {
        var format = terminal
        #expect(format.text(of: .binary([0, 255]), .received) == "< binary, 2 bytes: 00 ff")
        #expect(format.text(of: .binary([]), .received) == "< binary, 0 bytes")
        format.isBinaryDumped = true
        #expect(format.text(of: .binary([0x41]), .received).hasPrefix("< binary, 1 byte\n  00000000  41 "))
    }

    @Test func `JSON is laid out only when asked and only when it is JSON`() {
        var format = pipe
        #expect(format.text(of: .text("[1]"), .received) == "[1]")
        format.isJSONPretty = true
        #expect(format.text(of: .text("[1]"), .received) == "[\n  1\n]")
        #expect(format.text(of: .text("[1"), .received) == "[1")
    }
}
