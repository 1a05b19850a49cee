import Holdfast
import Testing

@testable import HoldfastDoctor

@Suite struct DoctorJoinedTests {
    private func frame(_ opcode: Opcode, _ text: String, isFinal: Bool = true) -> WireFrame {
        WireFrame(opcode: opcode, isFinal: isFinal, isCompressed: false, payload: Array(text.utf8))
    }

    @Test func `fragments become one message of the first one's kind, and pings between them pass`() {
        var joined = Joined()
        #expect(joined.take(frame(.binary, "a", isFinal: false)) == nil)
        #expect(joined.take(frame(.ping, "?")) == nil)
        #expect(joined.take(frame(.continuation, "b", isFinal: false)) == nil)
        let whole = joined.take(frame(.continuation, "c"))
        #expect(whole?.opcode == .binary && whole?.bytes == Array("abc".utf8))
    }

    @Test func `each message begins anew`() {
        var joined = Joined()
        #expect(joined.take(frame(.text, "one"))?.bytes == Array("one".utf8))
        #expect(joined.take(frame(.continuation, "lost")) == nil)
        #expect(joined.take(frame(.text, "two"))?.bytes == Array("two".utf8))
    }

    @Test func `what is told of a message is short`() {
        var joined = Joined()
        #expect(joined.take(frame(.text, String(repeating: "x", count: 200)))?.words.count == 92)
        #expect(joined.take(frame(.binary, "abc"))?.words == "3 bytes of binary")
    }
}
