import Testing
import WebSocketCore

@testable import HoldfastTool

@Suite struct ArgumentTests {
    @Test func `a header is a name, a colon and a value`() {
        #expect(HeaderArgument(argument: "X-A: b: c")?.field == HeaderField(name: "X-A", value: "b: c"))
        #expect(HeaderArgument(argument: "X-A:")?.field == HeaderField(name: "X-A", value: ""))
    }

    @Test(arguments: ["X-A", ": b", "X A: b", "X-A : b", "X-A: b\r\nEvil: 1", "é: b", "", "X-A: \u{0}"])
    func `what is no header field is refused`(text: String) {
        #expect(HeaderArgument(argument: text) == nil)
    }

    @Test(arguments: [("1", 1), ("64K", 65_536), ("16m", 16 << 20), ("1G", 1 << 30)])
    func `byte counts take a unit`(text: String, bytes: Int) {
        #expect(ByteCount(argument: text)?.bytes == bytes)
    }

    @Test(arguments: ["", "0", "-1", "K", "1T", "1.5K", "9223372036854775807K", "99999999999999999999", "٣"])
    func `what is no byte count is refused`(text: String) {
        #expect(ByteCount(argument: text) == nil)
    }

    @Test(arguments: [("0", 0), ("1", 1), ("64K", 65_536)])
    func `a disk may be left as free as one likes, and not at all`(text: String, bytes: Int) {
        #expect(SpareBytes(argument: text)?.bytes == bytes)
    }

    @Test(arguments: ["", "-1", "0K", "1T"])
    func `what is no such number is refused`(text: String) { #expect(SpareBytes(argument: text) == nil) }

    @Test func `patience has an end, or none`() {
        #expect(Patience(argument: "0.5") == .quiet(.milliseconds(500)))
        #expect(Patience(argument: "forever") == .forever)
        #expect(["", "-1", "nan", "inf", "1e9", "soon"].allSatisfy { Patience(argument: $0) == nil })
    }

    @Test(arguments: ["http://a/", "ws://", "ws://u:p@a/", "ws://a/#f", "a", "ws://a:99999/", "ws://a b/"])
    func `a URL that is no WebSocket URL says why`(text: String) {
        #expect(throws: (any Error).self) { try URLArgument.parse(text) }
    }
}
