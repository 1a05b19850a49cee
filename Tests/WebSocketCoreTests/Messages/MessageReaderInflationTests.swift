import Testing
import WebSocketCore

@Suite struct MessageReaderInflationTests {
    private func reader(_ role: Role = .server, _ limits: MessageLimits = .init(), _ delivery: Delivery = .messages) -> MessageReader {
        MessageReader(role: role, limits: limits, delivery: delivery, inflater: DoublingInflater())
    }

    @Test(arguments: [Role.client, .server]) func `compressed messages, fragments and pings between them are read at every split point`(
        role: Role
    ) {
        let frames = [
            WireFrame(.text, "ab".utf8, isCompressed: true), WireFrame(.text, "plain".utf8),
            WireFrame(.text, "c".utf8, isFinal: false, isCompressed: true), WireFrame(.ping, [1]),
            WireFrame(.continuation, [], isFinal: false),
            WireFrame(.continuation, "d".utf8), WireFrame(.binary, [], isCompressed: true), WireFrame(.binary, [8]),
        ]
        let bytes = frames.flatMap { $0.bytes(from: role == .server ? .client : .server) }
        let expected = Reading(events: [
            .message(.text("aabb.")), .message(.text("plain")), .ping([1]), .message(.text("ccdd.")), .message(.binary([0x2E])),
            .message(.binary([8])),
        ])
        for split in 0...bytes.count { #expect(reading([bytes[..<split], bytes[split...]], by: reader(role)) == expected) }
        #expect(reading(bytes.map { [$0] }, by: reader(role)) == expected)
    }

    @Test func `the inflater is finished once for each compressed message`() {
        let inflater = DoublingInflater()
        let bytes = [WireFrame(.text, [], isCompressed: true), WireFrame(.text, [0x61]), WireFrame(.binary, [1], isCompressed: true)]
        _ = reading([bytes.flatMap { $0.bytes() }], by: MessageReader(role: .server, inflater: inflater))
        #expect(inflater.finished == 2)
    }

    @Test(arguments: [Delivery.messages, .chunks]) func `a long compressed payload is unmasked in phase across pieces`(
        delivery: Delivery
    ) {
        let payload = (0..<50_001).map { UInt8($0 % 251) }
        let bytes = WireFrame(.binary, payload, isCompressed: true).bytes()
        let inflated: [UInt8] = payload.flatMap { [$0, $0] as [UInt8] } + [0x2E]
        let expected: MessageReader.Event =
            delivery == .chunks ? .chunk(.init(kind: .binary, bytes: inflated, isLast: true)) : .message(.binary(inflated))
        for size in [bytes.count, 20_000, 8191, 777] {
            let reads = stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] }
            #expect(reading(reads, by: reader(.server, .init(), delivery)).joined == Reading(events: [expected]), "reads of \(size)")
        }
    }

    @Test func `a chunk holds the output of at most 8 KiB of compressed payload`() {
        let bytes = WireFrame(.binary, [UInt8](repeating: 1, count: 20_000), isCompressed: true).bytes()
        let sizes = reading([bytes], by: reader(.server, .init(), .chunks)).events.map {
            if case .chunk(let chunk) = $0 { chunk.bytes.count } else { 0 }
        }
        #expect(sizes == [16_384, 16_384, 7233])
    }

    @Test(arguments: [Delivery.messages, .chunks]) func `all inflated bytes count against the message limit`(
        delivery: Delivery
    ) {
        let bytes = WireFrame(.binary, [1, 2], isFinal: false, isCompressed: true).bytes() + WireFrame(.continuation, [3]).bytes()
        func kind(_ limit: Int) -> ProtocolViolation.Kind? {
            reading(bytes.map { [$0] }, by: reader(.server, MessageLimits(message: limit), delivery)).violation?.kind
        }
        #expect(kind(7) == nil)
        #expect(kind(6) == .messageTooBig)
        #expect(kind(5) == .messageTooBig)
        #expect(kind(.max) == nil)
    }

    @Test func `the frame limit applies to the compressed payload`() {
        let bytes = WireFrame(.binary, [1, 2, 3], isCompressed: true).bytes()
        #expect(reading([bytes], by: reader(.server, MessageLimits(frame: 2))).violation?.kind == .messageTooBig)
    }

    @Test func `the output of an invalid stream is not delivered`() {
        let bytes = WireFrame(.text, [0x61], isFinal: false, isCompressed: true).bytes() + WireFrame(.continuation, [0x62, 0xFF]).bytes()
        let result = reading([bytes], by: reader())
        #expect(result.events.isEmpty && result.violation?.kind == .invalidCompressedData && result.violation?.closeCode == .invalidPayload)
    }

    @Test func `inflated text must be UTF-8`() {
        let bytes = WireFrame(.text, [0x61, 0xC3], isCompressed: true).bytes()
        #expect(reading([bytes], by: reader()).violation?.kind == .invalidUTF8)
    }

    @Test(arguments: [Opcode.ping, .pong, .close, .continuation]) func `compressed control frames and continuations are refused`(
        opcode: Opcode
    ) {
        let bytes = WireFrame(.text, [0x61], isFinal: false).bytes() + WireFrame(opcode, [], isCompressed: true).bytes()
        #expect(reading([bytes], by: reader()).violation?.kind == .reservedBits)
    }
}
