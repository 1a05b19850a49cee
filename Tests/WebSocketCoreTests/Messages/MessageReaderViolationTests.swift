import Testing
import WebSocketCore

@Suite struct MessageReaderViolationTests {
    struct Violation: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var receiver = Role.client
        var bytes: [UInt8]
        /// The number of bytes after which the reader must refuse the stream.
        var seen: Int
        var kind: ProtocolViolation.Kind
        var code: CloseCode
        var events: [MessageReader.Event] = []
    }

    static let limits = MessageLimits(frame: 10, message: 15, fragments: 3)

    static let violations: [Violation] = [
        .init(testDescription: "RSV1 without an extension", bytes: [0xC1, 0], seen: 1, kind: .reservedBits, code: .protocolError),
        .init(testDescription: "RSV2", bytes: [0xA1, 0], seen: 1, kind: .reservedBits, code: .protocolError),
        .init(testDescription: "opcode 3", bytes: [0x83, 0], seen: 1, kind: .unknownOpcode, code: .protocolError),
        .init(testDescription: "opcode 11", bytes: [0x8B, 0], seen: 1, kind: .unknownOpcode, code: .protocolError),
        .init(testDescription: "fragmented ping", bytes: [0x09, 0], seen: 1, kind: .fragmentedControl, code: .protocolError),
        .init(testDescription: "long ping", bytes: [0x89, 126, 0, 126], seen: 2, kind: .oversizedControl, code: .protocolError),
        .init(testDescription: "length 5 in 16 bits", bytes: [0x81, 126, 0, 5], seen: 4, kind: .nonMinimalLength, code: .protocolError),
        .init(
            testDescription: "2^63 bytes", bytes: [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], seen: 10, kind: .lengthOverflow,
            code: .protocolError),
        .init(
            testDescription: "2^63 − 1 bytes", bytes: [0x82, 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], seen: 10,
            kind: .messageTooBig,
            code: .messageTooBig),
        .init(
            testDescription: "masked by a server", bytes: [0x81, 0x81, 1, 2, 3, 4, 5], seen: 6, kind: .unexpectedMask, code: .protocolError),
        .init(
            testDescription: "ping masked by a server", bytes: [0x89, 0x80, 1, 2, 3, 4], seen: 6, kind: .unexpectedMask,
            code: .protocolError),
        .init(
            testDescription: "unmasked by a client", receiver: .server, bytes: [0x81, 1, 0x61], seen: 2, kind: .missingMask,
            code: .protocolError),
        .init(testDescription: "lost continuation", bytes: [0x80, 1, 0x61], seen: 2, kind: .unexpectedContinuation, code: .protocolError),
        .init(
            testDescription: "continuation after a whole message", bytes: [0x81, 1, 0x61, 0x00, 0], seen: 5, kind: .unexpectedContinuation,
            code: .protocolError, events: [.message(.text("a"))]),
        .init(
            testDescription: "continuation after fragments", bytes: [0x01, 1, 0x61, 0x80, 0, 0x80, 0], seen: 7,
            kind: .unexpectedContinuation,
            code: .protocolError, events: [.message(.text("a"))]),
        .init(
            testDescription: "text inside a message", bytes: [0x01, 1, 0x61, 0x89, 0, 0x81, 0], seen: 7, kind: .expectedContinuation,
            code: .protocolError, events: [.ping([])]),
        .init(testDescription: "frame limit", bytes: [0x82, 11], seen: 2, kind: .messageTooBig, code: .messageTooBig),
        .init(
            testDescription: "message limit, the first frame counted", bytes: [0x02, 10] + [UInt8](repeating: 0, count: 10) + [0x80, 6],
            seen: 14,
            kind: .messageTooBig, code: .messageTooBig),
        .init(
            testDescription: "fragment limit", bytes: [0x02, 0, 0x00, 0, 0x00, 0, 0x80, 0], seen: 8, kind: .tooManyFragments,
            code: .policyViolation),
        .init(
            testDescription: "bad byte in a frame", bytes: [0x81, 6, 0x61, 0xC0, 0x80, 0x61, 0x61, 0x61], seen: 4, kind: .invalidUTF8,
            code: .invalidPayload),
        .init(
            testDescription: "surrogate over fragments", bytes: [0x01, 1, 0xED, 0x80, 5, 0xA0, 0x80, 0x61, 0x61, 0x61], seen: 6,
            kind: .invalidUTF8, code: .invalidPayload),
        .init(
            testDescription: "above U+10FFFF (Autobahn 6.4)", bytes: [0x81, 8, 0xCE, 0xBA, 0xF4, 0x90, 0x80, 0x80, 0x65, 0x64], seen: 6,
            kind: .invalidUTF8, code: .invalidPayload),
        .init(
            testDescription: "unfinished character", bytes: [0x81, 3, 0x61, 0xE2, 0x82], seen: 5, kind: .invalidUTF8, code: .invalidPayload),
        .init(
            testDescription: "unfinished character over fragments", bytes: [0x01, 1, 0xE2, 0x80, 1, 0x82], seen: 6, kind: .invalidUTF8,
            code: .invalidPayload),
        .init(testDescription: "close of one byte", bytes: [0x88, 1, 3], seen: 3, kind: .invalidCloseFrame, code: .protocolError),
        .init(testDescription: "close with 1005", bytes: [0x88, 2, 0x03, 0xED], seen: 4, kind: .invalidCloseFrame, code: .protocolError),
        .init(
            testDescription: "close reason not UTF-8", bytes: [0x88, 3, 0x03, 0xE8, 0xFF], seen: 5, kind: .invalidUTF8,
            code: .invalidPayload),
    ]

    @Test(arguments: violations, [Delivery.messages, .chunks])
    func `a violation is refused at its first byte, and later bytes are ignored`(violation: Violation, delivery: Delivery) {
        let reader = MessageReader(role: violation.receiver, limits: Self.limits, delivery: delivery)
        let bytes = violation.bytes + [0x81, 0]
        for split in 0...bytes.count {
            let result = reading([bytes[..<split], bytes[split...]], by: reader)
            #expect(result.violation?.kind == violation.kind, "cut at \(split)")
            #expect(result.violation?.closeCode == violation.code)
            #expect(result.leftovers == 0)
            if delivery == .messages { #expect(result.events == violation.events) }
        }
        let early = reading(bytes[..<(violation.seen - 1)].map { [$0] }, by: reader)
        #expect(early.violation == nil, "refused too early")
        let late = reading(bytes[..<violation.seen].map { [$0] }, by: reader)
        #expect(late.violation?.kind == violation.kind, "refused too late")
    }

    @Test func `a description gives the rule and the values`() {
        let violation = reading([[0x82, 11] as [UInt8]], by: MessageReader(role: .client, limits: Self.limits)).violation
        #expect(violation?.description == "message too big: a frame of 11 bytes, at most 10 are allowed (limits.frame)")
        let long = reading([[0x82, 16] as [UInt8]], by: MessageReader(role: .client, limits: Self.limits)).violation
        #expect(long?.description == "message too big: 16 bytes, at most 15 are allowed (limits.message)", "the limit that apps set")
        #expect(ProtocolViolation(.missingMask, "").description == "missing mask")
    }

    @Test func `frames and messages at the limits are read`() {
        let zeros = [UInt8](repeating: 0, count: 10)
        let bytes = [0x02, 10] + zeros + [0x00, 5] + zeros.prefix(5) + [0x80, 0, 0x82, 10] + zeros
        let expected = Reading(events: [.message(.binary([UInt8](repeating: 0, count: 15))), .message(.binary(zeros))])
        #expect(reading([bytes], by: MessageReader(role: .client, limits: Self.limits)) == expected)
        // Control frames are not part of a message, so message limits do not apply to them.
        let ping = [0x89, 20] + zeros + zeros
        #expect(reading([ping], by: MessageReader(role: .client, limits: Self.limits)) == Reading(events: [.ping(zeros + zeros)]))
    }

    @Test func `delivered chunks count against the message limit`() {
        let reader = MessageReader(role: .client, limits: Self.limits, delivery: .chunks)
        let result = reading([[0x02, 9] + [UInt8](repeating: 0, count: 9), [0x00, 7]], by: reader)
        #expect(result.events.count == 1 && result.violation?.kind == .messageTooBig)
    }

    @Test(arguments: [Role.client, .server], [Delivery.messages, .chunks])
    func `random bytes never cause a trap, and all of them are consumed`(role: Role, delivery: Delivery) {
        for seed in 1...3000 as ClosedRange<UInt64> {
            var dice = Dice(seed)
            let inflater = Bool.random(using: &dice) ? DoublingInflater() : nil
            let reader = MessageReader(
                role: role, limits: MessageLimits(frame: 300, message: 400, fragments: 5), delivery: delivery, inflater: inflater)
            let bytes = dice.bytes(Int.random(in: 0...300, using: &dice))
            let split = Int.random(in: 0...bytes.count, using: &dice)
            #expect(reading([bytes[..<split], bytes[split...]], by: reader).leftovers == 0, "seed \(seed)")
        }
    }

    @Test(arguments: [Delivery.messages, .chunks]) func `valid frames with flipped bits give the same result at every split point`(
        delivery: Delivery
    ) {
        for seed in 1...600 as ClosedRange<UInt64> {
            var dice = Dice(seed)
            var bytes = MessageReaderTests.mixed.flatMap { $0.bytes(from: .server) }
            for _ in 0..<Int.random(in: 1...3, using: &dice) {
                bytes[Int.random(in: 0..<bytes.count, using: &dice)] ^= 1 << UInt8.random(in: 0..<8, using: &dice)
            }
            let reader = MessageReader(role: .client, limits: MessageLimits(frame: 300, message: 400, fragments: 5), delivery: delivery)
            let whole = reading([bytes], by: reader)
            let single = reading(bytes.map { [$0] }, by: reader)
            #expect(whole.leftovers == 0 && whole.violation == single.violation, "seed \(seed)")
            if delivery == .messages { #expect(whole.events == single.events, "seed \(seed)") }
        }
    }
}
