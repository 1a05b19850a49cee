import Testing
@testable import WebSocketCore

@Suite struct MessageReaderTests {
    struct Conversation: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var receiver = Role.server
        var bytes: [UInt8]
        var events: [MessageReader.Event]
    }

    private static func script(_ name: String, to receiver: Role = .server, _ frames: [WireFrame], _ events: [MessageReader.Event])
        -> Conversation
    {
        let sender: Role = receiver == .server ? .client : .server
        return Conversation(testDescription: name, receiver: receiver, bytes: frames.flatMap { $0.bytes(from: sender) }, events: events)
    }

    static let mixed = [
        WireFrame(.text, "Grü".utf8), WireFrame(.text, "a".utf8, isFinal: false), WireFrame(.ping, [1, 2]),
        WireFrame(.continuation, [0xF0, 0x9F], isFinal: false), WireFrame(.pong, []), WireFrame(.continuation, [0x98, 0x80]),
        WireFrame(.binary, []), WireFrame(.text, []), WireFrame(.binary, [7], isFinal: false), WireFrame(.continuation, [], isFinal: false),
        WireFrame(.continuation, []), WireFrame(.ping, [UInt8](repeating: 9, count: 125)),
        WireFrame(.close, CloseFrame(.normal, reason: "bye").payload),
    ]
    static let mixedEvents: [MessageReader.Event] = [
        .message(.text("Grü")), .ping([1, 2]), .pong([]), .message(.text("a😀")), .message(.binary([])), .message(.text("")),
        .message(.binary([7])), .ping([UInt8](repeating: 9, count: 125)), .close(CloseFrame(.normal, reason: "bye")),
    ]
    static let hello = Array("Hello".utf8)

    static let short: [Conversation] = [
        // All examples of RFC 6455 §5.7.
        Conversation(
            testDescription: "single unmasked text", receiver: .client, bytes: [0x81, 0x05] + hello, events: [.message(.text("Hello"))]),
        Conversation(
            testDescription: "single masked text", bytes: [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58],
            events: [.message(.text("Hello"))]),
        Conversation(
            testDescription: "fragmented unmasked text", receiver: .client, bytes: [0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F],
            events: [.message(.text("Hello"))]),
        Conversation(testDescription: "unmasked ping", receiver: .client, bytes: [0x89, 0x05] + hello, events: [.ping(hello)]),
        Conversation(
            testDescription: "masked pong", bytes: [0x8A, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58],
            events: [.pong(hello)]),
        Conversation(
            testDescription: "256 bytes", receiver: .client, bytes: [0x82, 0x7E, 0x01, 0x00] + [UInt8](repeating: 5, count: 256),
            events: [.message(.binary([UInt8](repeating: 5, count: 256)))]),
        script("all kinds of frames to a server", mixed, mixedEvents),
        script("all kinds of frames to a client", to: .client, mixed, mixedEvents),
        script(
            "lengths around the first limit", [125, 126, 127].map { WireFrame(.binary, 0..<$0) },
            [125, 126, 127].map { .message(.binary(Array(0..<$0))) }),
        script("an empty close frame", [WireFrame(.close, [])], [.close(CloseFrame())]),
        script(
            "a close frame inside a message", [WireFrame(.text, [0x61], isFinal: false), WireFrame(.close, [0x0F, 0xA0])],
            [.close(CloseFrame(.init(rawValue: 4000)))]),
    ]

    @Test(arguments: short) func `a conversation split at any point gives the same events`(conversation: Conversation) {
        let reader = MessageReader(role: conversation.receiver)
        let expected = Reading(events: conversation.events)
        for split in 0...conversation.bytes.count {
            #expect(reading([conversation.bytes[..<split], conversation.bytes[split...]], by: reader) == expected, "cut at \(split)")
        }
        #expect(reading(conversation.bytes.map { [$0] }, by: reader) == expected, "byte by byte")
    }

    @Test(arguments: short) func `the chunks of a conversation split at any point join to its messages`(conversation: Conversation) {
        let reader = MessageReader(role: conversation.receiver, delivery: .chunks)
        var expected = Reading()
        expected.events = conversation.events.map {
            guard case .message(let message) = $0 else { return $0 }
            return switch message {
            case .text(let text): .chunk(MessageChunk(kind: .text, bytes: Array(text.utf8), isLast: true))
            case .binary(let bytes): .chunk(MessageChunk(kind: .binary, bytes: bytes, isLast: true))
            }
        }
        // A ping between fragments arrives before the end of its message, so only the order of messages is compared.
        func sorted(_ reading: Reading) -> [MessageReader.Event] {
            reading.joined.events.filter { if case .chunk = $0 { true } else { false } }
        }
        for split in 0...conversation.bytes.count {
            let result = reading([conversation.bytes[..<split], conversation.bytes[split...]], by: reader)
            #expect(sorted(result) == sorted(expected) && result.violation == nil && result.leftovers == 0, "cut at \(split)")
        }
        #expect(sorted(reading(conversation.bytes.map { [$0] }, by: reader)) == sorted(expected))
    }

    @Test(arguments: [MessageKind.text, .binary], [65_535, 65_536, 70_001])
    func `a long message is complete when split near a limit or read in small parts`(kind: MessageKind, length: Int) {
        let payload =
            kind == .text
            ? Array(String(repeating: "añ日😀", count: 10_000).utf8.prefix(length - length % 10))
            : (0..<length).map { UInt8(truncatingIfNeeded: $0 / 7) }
        let message: Message = kind == .text ? .text(String(decoding: payload, as: UTF8.self)) : .binary(payload)
        let bytes = WireFrame(kind == .text ? .text : .binary, payload).bytes() + WireFrame(.ping, [3]).bytes()
        let expected = Reading(events: [.message(message), .ping([3])])
        let splits = Array(0..<40) + Array(stride(from: 40, to: bytes.count, by: 4099)) + Array(bytes.count - 20...bytes.count)
        for split in splits { #expect(reading([bytes[..<split], bytes[split...]], by: MessageReader(role: .server)) == expected) }
        for size in [1, 3, 1000, 16_385, 65_536] {
            let reads = stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] }
            #expect(reading(reads, by: MessageReader(role: .server)) == expected, "reads of \(size)")
        }
    }

    @Test func `each read gives a chunk, the last chunk of a message is marked, and an empty message is one empty chunk`() {
        var reader = MessageReader(role: .client, delivery: .chunks)
        func events(_ bytes: [UInt8]) -> [MessageReader.Event] {
            var reading = Reading()
            reader.feed(bytes, into: &reading)
            return reading.events
        }
        func chunk(_ kind: MessageKind, _ bytes: [UInt8], last: Bool = false) -> MessageReader.Event {
            .chunk(MessageChunk(kind: kind, bytes: bytes, isLast: last))
        }
        #expect(events([0x01, 3, 0x61]) == [chunk(.text, [0x61])])
        #expect(events([0xC3]) == [chunk(.text, [0xC3])])
        #expect(events([0xBC, 0x89, 0]) == [chunk(.text, [0xBC]), .ping([])])
        #expect(events([0x80, 1]).isEmpty)
        #expect(events([0x62, 0x82, 0]) == [chunk(.text, [0x62], last: true), chunk(.binary, [], last: true)])
        #expect(events([0x02, 1, 5, 0x80, 0]) == [chunk(.binary, [5]), chunk(.binary, [], last: true)])
    }

    @Test func `all bytes after a close frame are ignored`() {
        let bytes = WireFrame(.close, []).bytes() + WireFrame(.text, [0xFF]).bytes() + [0xFF, 0xFF]
        for split in 0...bytes.count {
            #expect(
                reading([bytes[..<split], bytes[split...]], by: MessageReader(role: .server)) == Reading(events: [.close(CloseFrame())]))
        }
    }

    @Test func `a false length reserves at most 64 KiB, and memory grows with the received bytes`() {
        var reader = MessageReader(role: .client, limits: MessageLimits(frame: .max, message: .max, fragments: .max))
        var reading = Reading()
        reader.feed([0x82, 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], into: &reading)
        #expect(reader.message.bytes.capacity <= 66_000)
        reader.feed([1, 2, 3], into: &reading)
        #expect(reader.message.bytes.capacity <= 66_000)
        for _ in 0..<100 {
            reader.feed([UInt8](repeating: 0, count: 10_000), into: &reading)
            #expect(reader.message.bytes.capacity <= max(66_000, reader.message.bytes.count * 4 + 8192))
        }
        #expect(reading == Reading())
    }

    @Test func `many small fragments are joined without copying the whole message each time`() {
        var (reader, reading, reallocations) = (MessageReader(role: .client), Reading(), 0)
        var address: UnsafeRawPointer?
        for _ in 0..<20_000 {
            reader.feed([reader.message.isOpen ? 0x00 : 0x02, 3, 1, 2, 3], into: &reading)
            let now = reader.message.bytes.withUnsafeBytes { $0.baseAddress }
            if now != address { (reallocations, address) = (reallocations + 1, now) }
        }
        #expect(reader.message.bytes.count == 60_000 && reallocations < 40)
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>) func `random conversations in random reads give the events that were sent`(seed: UInt64)
    {
        var dice = Dice(seed)
        var (bytes, events): ([UInt8], [MessageReader.Event]) = ([], [])
        for _ in 0..<30 {
            let payload = dice.bytes(Int.random(in: 0...[5, 200, 70_000].randomElement(using: &dice)!, using: &dice))
            let parts = Int.random(in: 1...4, using: &dice)
            for part in 0..<parts {
                let piece = payload[payload.count * part / parts..<payload.count * (part + 1) / parts]
                var frame = WireFrame(part == 0 ? .binary : .continuation, piece, isFinal: part == parts - 1)
                frame.mask = MaskKey(bits: .random(in: 0 ... .max, using: &dice))
                bytes += frame.bytes()
                if Bool.random(using: &dice), !frame.isFinal {
                    bytes += WireFrame(.ping, [UInt8(part)]).bytes()
                    events.append(.ping([UInt8(part)]))
                }
            }
            events.append(.message(.binary(payload)))
        }
        var (reads, rest): ([ArraySlice<UInt8>], ArraySlice<UInt8>) = ([], bytes[...])
        while !rest.isEmpty {
            reads.append(rest.prefix(Int.random(in: 1...[3, 100, 50_000].randomElement(using: &dice)!, using: &dice)))
            rest = rest.dropFirst(reads[reads.count - 1].count)
        }
        let result = reading(reads, by: MessageReader(role: .server))
        if result != Reading(events: events) { Issue.record("seed \(seed): \(result.violation as Any), \(result.events.count) events") }
    }

    @Test func `a message in several reads is assembled in the spare storage, and the next one in new storage`() {
        let payload = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let bytes = WireFrame(.binary, payload).bytes()
        var (reader, read, storage) = (MessageReader(role: .server), Reading(), [UInt8]())
        storage.reserveCapacity(80_000)
        let address = storage.withUnsafeBytes(\.baseAddress)
        reader.spare = storage
        storage = []
        for _ in 1...2 {
            reader.feed(bytes.prefix(20_000), into: &read)
            #expect(reader.spare.capacity == 0)
            reader.feed(bytes.dropFirst(20_000), into: &read)
        }
        #expect(read == Reading(events: [.message(.binary(payload)), .message(.binary(payload))]))
        let addresses = read.events.map { event -> UnsafeRawPointer? in
            guard case .message(.binary(let bytes)) = event else { return nil }
            return bytes.withUnsafeBytes(\.baseAddress)
        }
        #expect(addresses.first == address && addresses.last != address)
    }
}
