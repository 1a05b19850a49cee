import Testing
import WebSocketCore

/// A connection tries the fast path first.
///
/// The result must equal that of the slow path.
@Suite struct LoneEquivalenceTests {
    /// The three ways to use a lone frame.
    enum Way: CaseIterable {
        case message, copied, inPlace

        func event(_ lone: LoneFrame) throws(ProtocolViolation) -> MessageReader.Event {
            switch self {
            case .message: return .message(try lone.message())
            case .copied:
                return try withUnsafeTemporaryAllocation(byteCount: lone.payload.count + 1, alignment: 1) {
                    memory throws(ProtocolViolation) in
                    guard let start = memory.baseAddress else { return .ping([]) }
                    let isASCII = try lone.unmask(into: start)
                    let payload = UnsafeRawBufferPointer(rebasing: memory.dropLast())
                    return .message(Message(lone.kind, checked: payload, isASCII: isASCII))
                }
            case .inPlace:
                try lone.unmaskInPlace()
                return .message(lone.kind == .text ? .text(String(decoding: lone.payload, as: UTF8.self)) : .binary(Array(lone.payload)))
            }
        }
    }

    /// Reads as a connection does: the fast path first, and nothing after a violation.
    private func fastReading(_ reads: [some Collection<UInt8>], by reader: MessageReader, _ way: Way) -> Reading {
        var (reader, reading) = (reader, Reading())
        for read in reads where reading.violation == nil {
            var copy = Array(read)
            copy.withUnsafeMutableBytes { raw in
                var rest = UnsafeRawBufferPointer(raw)
                do throws(ProtocolViolation) {
                    while true {
                        if let lone = reader.nextLone(&rest) {
                            reading.events.append(try way.event(lone))
                        } else if let event = try reader.next(&rest) {
                            reading.events.append(event)
                        } else {
                            break
                        }
                    }
                    reading.leftovers += rest.count
                } catch {
                    reading.violation = error
                }
            }
        }
        return reading
    }

    /// Reads with the slow path only, because no read contains a complete frame.
    private func slowReading(_ frames: [[UInt8]], by reader: MessageReader) -> Reading {
        reading(frames.flatMap { [$0.prefix(1), $0.dropFirst()] }, by: reader)
    }

    @Test(arguments: MessageReaderTests.short, Way.allCases)
    func `a conversation split anywhere gives the same events on the fast path`(conversation: MessageReaderTests.Conversation, way: Way) {
        let (reader, bytes) = (MessageReader(role: conversation.receiver), conversation.bytes)
        let expected = Reading(events: conversation.events)
        for split in 0...bytes.count {
            #expect(fastReading([bytes[..<split], bytes[split...]], by: reader, way) == expected, "cut at \(split)")
        }
        #expect(fastReading(bytes.map { [$0] }, by: reader, way) == expected, "byte by byte")
    }

    @Test(arguments: 1...60 as ClosedRange<UInt64>, [Role.client, .server])
    func `a random stream of small frames gives the same result at every split point`(seed: UInt64, role: Role) {
        var dice = Dice(seed)
        for _ in 0..<10 {
            let limits = Bool.random(using: &dice) ? MessageLimits() : MessageLimits(frame: 30, message: 45, fragments: 3)
            let frames = frames(to: role, count: 8, sizes: [0, 1, 2, 7, 16, 30, 31, 40], &dice)
            let (bytes, reader) = (frames.flatMap(\.self), MessageReader(role: role, limits: limits))
            let expected = slowReading(frames, by: reader)
            let way = Way.allCases.randomElement(using: &dice) ?? .message
            #expect(fastReading([bytes], by: reader, way) == expected)
            #expect(reading([bytes], by: reader) == expected, "next alone")
            for split in 0...bytes.count {
                #expect(fastReading([bytes[..<split], bytes[split...]], by: reader, way) == expected, "cut at \(split) of \(bytes)")
            }
        }
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>, [Role.client, .server])
    func `a random stream of frames near the size limits gives the same result however it is split`(seed: UInt64, role: Role) {
        var dice = Dice(seed &+ 1000)
        let borders = [0, 1, 124, 125, 126, 127, 1000, 4095, 4096, 4097, 65_534, 65_535, 65_536, 65_537, 70_000]
        let limits = [
            MessageLimits(), MessageLimits(frame: 65_535, message: 70_000), MessageLimits(frame: 126), MessageLimits(message: 65_536),
        ].randomElement(using: &dice)
        let reader = MessageReader(role: role, limits: limits ?? MessageLimits())
        let frames = frames(to: role, count: 12, sizes: borders, &dice)
        let (bytes, expected) = (frames.flatMap(\.self), slowReading(frames, by: reader))
        for way in Way.allCases {
            #expect(fastReading([bytes], by: reader, way) == expected)
            #expect(fastReading(frames, by: reader, way) == expected, "one frame per read")
            #expect(fastReading(cut(bytes, &dice), by: reader, way) == expected, "cut at random")
        }
        #expect(reading([bytes], by: reader) == expected, "next alone")
    }

    private func cut(_ bytes: [UInt8], _ dice: inout Dice) -> [ArraySlice<UInt8>] {
        var (reads, start) = ([ArraySlice<UInt8>](), 0)
        while start < bytes.count {
            let length = Int.random(in: 1...(Bool.random(using: &dice) ? 20 : 100_000), using: &dice)
            reads.append(bytes[start...].prefix(length))
            start += length
        }
        return reads
    }

    /// Frames of all kinds.
    ///
    /// Most streams contain a violation.
    private func frames(to role: Role, count: Int, sizes: [Int], _ dice: inout Dice) -> [[UInt8]] {
        let sender: Role = role == .server ? .client : .server
        var (frames, isOpen) = ([[UInt8]](), false)
        for _ in 0..<count {
            let size = sizes.randomElement(using: &dice) ?? 0
            var frame: WireFrame
            switch Int.random(in: 0..<(isOpen ? 3 : 12), using: &dice) {
            case 0 where isOpen, 3 where !isOpen:
                let isFinal = Bool.random(using: &dice)
                let opcode: Opcode = isOpen ? .continuation : Bool.random(using: &dice) ? .text : .binary
                frame = WireFrame(opcode, text(size), isFinal: isFinal)
                isOpen = !isFinal
            case 1: frame = WireFrame(.ping, dice.bytes(min(size, 125)))
            case 2: frame = WireFrame(.pong, dice.bytes(min(size, 125)))
            case 0 where Int.random(in: 0..<8, using: &dice) == 0: frame = WireFrame(.close, CloseFrame(.normal, reason: "bye").payload)
            case 0...7: frame = WireFrame(.text, text(size))
            default: frame = WireFrame(.binary, pattern.prefix(size))
            }
            frame.mask = MaskKey(bits: UInt32(truncatingIfNeeded: dice.next()))
            frames.append(Int.random(in: 0..<20, using: &dice) == 0 ? faulty(frame, sender, &dice) : frame.bytes(from: sender))
        }
        return frames
    }

    private func faulty(_ frame: WireFrame, _ sender: Role, _ dice: inout Dice) -> [UInt8] {
        var bytes = frame.bytes(from: sender)
        switch Int.random(in: 0..<7, using: &dice) {
        case 0: return frame.bytes(from: sender == .server ? .client : .server)
        case 1: bytes[0] ^= 0x10 << UInt8.random(in: 0..<3, using: &dice)
        case 2: bytes[0] ^= 1 << UInt8.random(in: 0..<4, using: &dice)
        case 3: bytes[0] ^= 0x80
        case 4: return WireFrame(.text, text(20) + [0xC3, 0x28]).bytes(from: sender)
        // A length of 5 in 16 and in 64 bits.
        case 5: return [0x82, sender == .client ? 0xFE : 126, 0, 5] + [UInt8](repeating: 1, count: 9)
        default: return [0x81, sender == .client ? 0xFF : 127, 0, 0, 0, 0, 0, 0, 0, 5] + [UInt8](repeating: 1, count: 9)
        }
        return bytes
    }

    private func text(_ size: Int) -> [UInt8] { Array(repeating: 0x2E, count: size % 10) + letters.prefix(size - size % 10) }

    private let letters = Array(String(repeating: "a😀ñ日", count: 7000).utf8)
    private let pattern = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 256) }
}
