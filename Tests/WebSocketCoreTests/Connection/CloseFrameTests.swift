import Testing
import WebSocketCore

@Suite struct CloseFrameTests {
    private func parse(_ payload: [UInt8]) throws(ProtocolViolation) -> CloseFrame {
        try payload.withUnsafeBufferPointer { (raw) throws(ProtocolViolation) in
            try CloseFrame(payload: UnsafeRawBufferPointer(raw))
        }
    }

    private func violation(_ payload: [UInt8]) -> ProtocolViolation? {
        do throws(ProtocolViolation) {
            _ = try parse(payload)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        CloseFrame(), CloseFrame(.normal), CloseFrame(.goingAway, reason: "bye"), CloseFrame(.init(rawValue: 4999), reason: "größer 😀"),
    ])
    func `a written close frame is parsed to the same frame`(frame: CloseFrame) throws {
        #expect(try parse(frame.payload) == frame)
    }

    @Test func `the payload is the code in network byte order, then the reason`() {
        #expect(CloseFrame(.normal, reason: "ok").payload == [0x03, 0xE8, 0x6F, 0x6B])
        #expect(CloseFrame().payload.isEmpty)
        #expect(CloseFrame(reason: "without a code").reason.isEmpty)
    }

    @Test(arguments: [CloseCode.noStatus, .abnormal, .tlsHandshake, .init(rawValue: 1004), .init(rawValue: 0)])
    func `a code that must not be sent is not written`(code: CloseCode) {
        #expect(CloseFrame(code, reason: "why").payload.isEmpty)
    }

    @Test func `a close payload of one byte is a protocol error`() {
        #expect(violation([0x03])?.kind == .invalidCloseFrame)
        #expect(violation([0x03])?.closeCode == .protocolError)
    }

    @Test func `every code that must not be sent is refused`() {
        for value in UInt16.min...UInt16.max {
            let kind = violation([UInt8(value >> 8), UInt8(value & 0xFF)])?.kind
            if kind != (CloseCode(rawValue: value).mayBeReceived ? nil : .invalidCloseFrame) { Issue.record("\(value)") }
        }
    }

    @Test(arguments: [[0xFF], [0xC3], [0x61, 0xE2, 0x82], [0xED, 0xA0, 0x80]] as [[UInt8]])
    func `a reason that is not UTF-8 closes with 1007`(reason: [UInt8]) {
        #expect(violation([0x03, 0xE8] + reason)?.kind == .invalidUTF8)
        #expect(violation([0x03, 0xE8] + reason)?.closeCode == .invalidPayload)
    }

    @Test func `a long reason is cut at the last character that fits in 123 bytes`() {
        func cut(_ reason: String) -> String { CloseFrame(.normal, reason: reason).reason }
        #expect(cut(String(repeating: "a", count: 123)).utf8.count == 123)
        #expect(cut(String(repeating: "a", count: 1000)).utf8.count == 123)
        #expect(cut(String(repeating: "ü", count: 100)) == String(repeating: "ü", count: 61))
        #expect(cut(String(repeating: "😀", count: 100)) == String(repeating: "😀", count: 30))
        let family = "👨‍👩‍👧‍👦"
        #expect(cut(String(repeating: family, count: 9)) == String(repeating: family, count: 123 / family.utf8.count))
        #expect(cut("e" + String(repeating: "\u{301}", count: 200)).isEmpty)
        #expect(CloseFrame(.normal, reason: String(repeating: "ü", count: 100)).payload.count <= 125)
    }

    @Test func `the record has the peer's code, 1005 for an empty close frame and 1006 without one`() {
        #expect(CloseRecord().code == .abnormal)
        #expect(CloseRecord(received: CloseFrame()).code == .noStatus)
        #expect(
            CloseRecord(sent: CloseFrame(.normal), received: CloseFrame(.goingAway), closedFirst: .remote, isClean: true).code == .goingAway
        )
    }
}
