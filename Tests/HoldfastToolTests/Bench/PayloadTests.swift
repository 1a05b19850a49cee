import Testing
import WebSocketCore

@testable import HoldfastTool

@Suite struct PayloadTests {
    @Test(arguments: PayloadKind.allCases, [0, 1, 2, 7, 8, 9, 1000, 200_000])
    func `an echo has as much of the number as the size allows`(kind: PayloadKind, size: Int) {
        var payload = BenchPayload(kind: kind, size: size)
        for number in [0, 1, 255, 256, 65_535, 1 << 40, Int.max] {
            let message = payload.message(number)
            #expect(message.byteCount == size)
            #expect(payload.number(in: message) == UInt64(number) & payload.mask)
        }
    }

    @Test func `eight bytes hold every number, eight digits 32 bits of it`() {
        #expect(BenchPayload(kind: .binary, size: 8).mask == .max)
        #expect(BenchPayload(kind: .text, size: 100).mask == 0xFFFF_FFFF)
        #expect(BenchPayload(kind: .text, size: 1).mask == 0xF)
        #expect(BenchPayload(kind: .binary, size: 0).mask == 0)
    }

    @Test func `messages are alike but for their number`() {
        var payload = BenchPayload(kind: .binary, size: 12)
        guard case .binary(let first) = payload.message(1), case .binary(let second) = payload.message(2) else {
            Issue.record("not binary")
            return
        }
        #expect(first.prefix(8) == [1, 0, 0, 0, 0, 0, 0, 0])
        #expect(second.prefix(8) == [2, 0, 0, 0, 0, 0, 0, 0])
        #expect(first.dropFirst(8) == second.dropFirst(8))
        var text = BenchPayload(kind: .text, size: 4)
        #expect(text.message(0x1A2B) == .text("b2a1"))
    }

    @Test(arguments: [
        Message.text("b2a100000"), .text("b2a"), .text(""), .text("B2A10000"), .text("g2a10000"), .text("é2a1000"), .binary([1]),
        .binary(Array("b2a10000".utf8)),
    ])
    func `what is no echo of a text has no number`(reply: Message) {
        #expect(BenchPayload(kind: .text, size: 8).number(in: reply) == nil)
    }

    @Test func `what is no echo of a binary message has no number`() {
        #expect(BenchPayload(kind: .binary, size: 2).number(in: .binary([1])) == nil)
        #expect(BenchPayload(kind: .binary, size: 2).number(in: .text("ab")) == nil)
        #expect(BenchPayload(kind: .binary, size: 0).number(in: .text("")) == nil)
    }
}
