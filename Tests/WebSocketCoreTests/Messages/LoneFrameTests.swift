import Testing
import WebSocketCore

/// The frames that the fast path takes, and those that it leaves to the slow path.
@Suite struct LoneFrameTests {
    private static let sizes = [0, 1, 2, 3, 4, 15, 16, 17, 63, 64, 125, 126, 127, 4095, 4096, 4097, 65_535, 65_536, 70_000]

    private static func payload(_ kind: MessageKind, _ size: Int) -> [UInt8] {
        kind == .text
            ? Array(String(repeating: "a😀ñ日", count: size / 10 + 1).utf8.prefix(size - size % 10))
                + Array(repeating: 0x2E, count: size % 10)
            : (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 256) }
    }

    private static func message(_ kind: MessageKind, _ payload: [UInt8]) -> Message {
        kind == .text ? .text(String(decoding: payload, as: UTF8.self)) : .binary(payload)
    }

    private func frame(_ kind: MessageKind, _ size: Int) -> WireFrame {
        WireFrame(kind == .text ? .text : .binary, Self.payload(kind, size))
    }

    private func other(_ role: Role) -> Role { role == .server ? .client : .server }

    /// The result of the fast path, and the number of bytes that it leaves.
    private func lone<Result>(
        _ bytes: [UInt8], _ reader: inout MessageReader, _ body: (LoneFrame) throws -> Result
    ) rethrows -> (result: Result?, rest: Int) {
        try bytes.withUnsafeBytes { bytes in
            var rest = bytes
            let result = try reader.nextLone(&rest).map(body)
            return (result, rest.count)
        }
    }

    /// The payload of a frame, unmasked into other memory.
    private static func copied(_ frame: LoneFrame) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: frame.payload.count + 1)
        _ = try bytes.withUnsafeMutableBytes { try frame.unmask(into: try #require($0.baseAddress)) }
        return bytes.dropLast()
    }

    private func isLone(_ bytes: [UInt8], _ reader: MessageReader) -> Bool {
        var reader = reader
        let (result, rest) = lone(bytes, &reader) { _ in true }
        #expect(result != nil || rest == bytes.count, "bytes that are not taken stay")
        return result ?? false
    }

    @Test(arguments: [Role.client, .server], [MessageKind.text, .binary])
    func `a complete message in one frame is taken without the bytes after it`(role: Role, kind: MessageKind) throws {
        for size in Self.sizes {
            let bytes = frame(kind, size).bytes(from: other(role))
            var reader = MessageReader(role: role)
            for tail in [[], [0x81], bytes] {
                let (message, rest) = try lone(bytes + tail, &reader) { frame in
                    #expect(frame.kind == kind && frame.payload.count == size && (frame.mask == nil) == (role == .client))
                    return try frame.message()
                }
                #expect(message == Self.message(kind, Self.payload(kind, size)), "\(size) bytes")
                #expect(rest == tail.count)
            }
        }
    }

    @Test(arguments: [Role.client, .server], [MessageKind.text, .binary])
    func `unmasking into other memory writes only the payload there, and does not change the source`(
        role: Role, kind: MessageKind
    ) throws {
        for size in Self.sizes {
            let bytes = frame(kind, size).bytes(from: other(role))
            for offset in 0..<3 {
                var (reader, memory) = (MessageReader(role: role), [UInt8](repeating: 0xEE, count: size + 5))
                let isASCII = try lone(bytes, &reader) { lone in
                    try memory.withUnsafeMutableBytes { try lone.unmask(into: try #require($0.baseAddress) + offset) }
                }.result
                #expect(isASCII == (kind == .text && size < 10), "\(size) bytes")
                let edges = ([UInt8](repeating: 0xEE, count: offset), [UInt8](repeating: 0xEE, count: 5 - offset))
                #expect(memory == edges.0 + Self.payload(kind, size) + edges.1)
                #expect(bytes == frame(kind, size).bytes(from: other(role)))
            }
        }
    }

    @Test(arguments: [MessageKind.text, .binary]) func `unmasking in place changes only the payload`(kind: MessageKind)
        throws
    {
        for size in Self.sizes {
            for offset in 0..<4 {
                let before = [UInt8](repeating: 0xEE, count: offset)
                let wire = frame(kind, size).bytes()
                var bytes = before + wire + [0xEE, 0xEE]
                let header = wire.count - size
                try bytes.withUnsafeMutableBytes { raw in
                    var rest = UnsafeRawBufferPointer(rebasing: raw[offset...])
                    var reader = MessageReader(role: .server)
                    let found = reader.nextLone(&rest)
                    let lone = try #require(found)
                    try lone.unmaskInPlace()
                    #expect(lone.payload.elementsEqual(Self.payload(kind, size)))
                }
                #expect(bytes == before + wire[..<header] + Self.payload(kind, size) + [0xEE, 0xEE], "\(size) bytes at \(offset)")
            }
        }
    }

    @Test func `invalid UTF-8 is refused by each of the three ways`() throws {
        let texts: [[UInt8]] = [
            [0xFF], [0x61, 0xC3], [0xED, 0xA0, 0x80], Array(repeating: 0x61, count: 5000) + [0x80], [0xE2, 0x82],
            Array(repeating: 0x61, count: 125) + [0xC0, 0x80],
        ]
        for text in texts {
            let ways: [(LoneFrame) throws -> Void] = [{ _ = try $0.message() }, { _ = try Self.copied($0) }, { try $0.unmaskInPlace() }]
            for way in ways {
                let violation = #expect(throws: ProtocolViolation.self) {
                    var reader = MessageReader(role: .server)
                    _ = try lone(WireFrame(.text, text).bytes(), &reader, way)
                }
                #expect(violation?.kind == .invalidUTF8)
            }
            var reader = MessageReader(role: .server)
            #expect(try lone(WireFrame(.binary, text).bytes(), &reader) { try $0.message() }.result == .binary(text))
        }
    }

    @Test(arguments: [Role.client, .server]) func `an incomplete frame is not taken`(role: Role) {
        for size in [0, 1, 125, 126, 127, 65_535, 65_536] {
            let bytes = frame(.binary, size).bytes(from: other(role))
            let ends = Array(0..<min(20, bytes.count)) + [bytes.count - 1]
            for end in ends { #expect(!isLone(Array(bytes[..<end]), MessageReader(role: role)), "\(end) of \(bytes.count) bytes") }
            #expect(isLone(bytes, MessageReader(role: role)))
        }
    }

    @Test(arguments: [Role.client, .server]) func `only a complete uncompressed message is taken`(role: Role) {
        let sender = other(role)
        let reader = MessageReader(role: role, inflater: DoublingInflater())
        let frames = [
            WireFrame(.ping, [1]), WireFrame(.pong, []), WireFrame(.close, []), WireFrame(.continuation, [1]),
            WireFrame(.text, [0x61], isFinal: false), WireFrame(.binary, [1], isFinal: false), WireFrame(.text, [0x61], isCompressed: true),
        ]
        for frame in frames { #expect(!isLone(frame.bytes(from: sender), reader)) }
        #expect(!isLone(WireFrame(.text, [0x61]).bytes(from: role), reader), "wrong masking")
        for reserved: UInt8 in [0x10, 0x20, 0x40] {
            var bytes = WireFrame(.text, [0x61]).bytes(from: sender)
            bytes[0] |= reserved
            #expect(!isLone(bytes, reader))
        }
    }

    @Test func `lengths that are not in their shortest form, or overflow, are not taken`() {
        let reader = MessageReader(role: .client, limits: MessageLimits(frame: .max, message: .max))
        let tail = [UInt8](repeating: 1, count: 70_000)
        let heads: [[UInt8]] = [
            [0x82, 126, 0, 125], [0x82, 126, 0, 0], [0x82, 127, 0, 0, 0, 0, 0, 0, 0, 125], [0x82, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF],
            [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], [0x82, 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            [0x82, 127, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0],
        ]
        for head in heads { #expect(!isLone(head + tail, reader), "\(head)") }
    }

    @Test func `a message at the limit is taken, and a longer one is not`() {
        for limits in [MessageLimits(frame: 200, message: 1000), MessageLimits(frame: 1000, message: 200)] {
            let reader = MessageReader(role: .server, limits: limits)
            #expect(isLone(frame(.binary, 200).bytes(), reader))
            #expect(!isLone(frame(.binary, 201).bytes(), reader))
        }
    }

    @Test func `no frame is taken inside a message or header, after the end, or with delivery in chunks`() {
        let whole = WireFrame(.text, "a".utf8).bytes()
        func after(_ bytes: [UInt8], _ reader: MessageReader = MessageReader(role: .server)) -> MessageReader {
            var (reader, ignored) = (reader, Reading())
            reader.feed(bytes, into: &ignored)
            return reader
        }
        let open = WireFrame(.text, "b".utf8, isFinal: false).bytes()
        #expect(!isLone(whole, after(open)))
        #expect(!isLone(whole, after(open + WireFrame(.ping, []).bytes())))
        #expect(isLone(whole, after(open + WireFrame(.continuation, []).bytes())), "the message before is complete")
        for end in 1..<whole.count { #expect(!isLone(whole, after(Array(whole[..<end])))) }
        #expect(isLone(whole, after(whole)))
        #expect(!isLone(whole, after(WireFrame(.close, []).bytes())))
        #expect(!isLone(whole, after([0xFF])))
        #expect(!isLone(whole, MessageReader(role: .server, delivery: .chunks)))
        #expect(!isLone(whole, after(whole, MessageReader(role: .server, delivery: .chunks))))
    }

    /// The length of the frame at the start of these bytes, if the fast path will take it.
    private func length(_ bytes: some Collection<UInt8>, _ reader: MessageReader) -> Int? {
        Array(bytes).withUnsafeBytes { reader.lengthOfLone($0) }
    }

    @Test(arguments: [Role.client, .server]) func `the length of a frame for the fast path is known from its header`(role: Role) {
        for size in Self.sizes {
            let bytes = frame(.binary, size).bytes(from: other(role))
            for end in 0...min(bytes.count, 80) {
                let expected = end < bytes.count - size ? nil : bytes.count
                #expect(length(bytes[..<end], MessageReader(role: role)) == expected, "\(end) of \(bytes.count) bytes")
            }
        }
    }

    @Test(arguments: [Role.client, .server]) func `a frame that the fast path will not take has no length`(role: Role) {
        let (sender, limits) = (other(role), MessageLimits(frame: 70_000, message: 70_000))
        let reader = MessageReader(role: role, limits: limits, inflater: DoublingInflater())
        let frames = [
            WireFrame(.ping, [1]), WireFrame(.close, []), WireFrame(.continuation, [1]), WireFrame(.text, [0x61], isFinal: false),
            WireFrame(.text, [0x61], isCompressed: true), frame(.binary, 70_001),
        ]
        for frame in frames { #expect(length(frame.bytes(from: sender), reader) == nil) }
        #expect(length(frame(.binary, 70_000).bytes(from: sender), reader) != nil)
        #expect(length(frame(.binary, 70_000).bytes(from: role), reader) == nil, "wrong masking")
        #expect(length(frame(.binary, 1).bytes(from: sender), MessageReader(role: role, delivery: .chunks)) == nil)
        var open = reader
        var ignored = Reading()
        open.feed(WireFrame(.text, [0x61], isFinal: false).bytes(from: sender), into: &ignored)
        #expect(length(frame(.binary, 1).bytes(from: sender), open) == nil)
        // The length does not fit in an Int.
        let unlimited = MessageReader(role: role, limits: MessageLimits(frame: .max, message: .max))
        let head: [UInt8] = [0x82, role == .server ? 0xFF : 0x7F, 0x7F] + Array(repeating: 0xFF, count: 7) + [0, 0, 0, 0]
        #expect(length(head, unlimited) == nil)
    }

    @Test(arguments: [Role.client, .server]) func `a reader that keeps bytes gives other messages as one last chunk`(role: Role) {
        let frames = [
            WireFrame(.text, "whole".utf8), WireFrame(.binary, [1, 2]), WireFrame(.text, "gr".utf8, isFinal: false), WireFrame(.ping, [7]),
            WireFrame(.continuation, [0xC3], isFinal: false), WireFrame(.continuation, [0xBC]), WireFrame(.binary, [8], isCompressed: true),
            WireFrame(.text, "ab".utf8, isFinal: false, isCompressed: true), WireFrame(.continuation, "c".utf8), WireFrame(.text, []),
        ]
        let bytes = frames.flatMap { $0.bytes(from: other(role)) }
        func chunk(_ kind: MessageKind, _ bytes: some Sequence<UInt8>) -> MessageReader.Event {
            .chunk(MessageChunk(kind: kind, bytes: Array(bytes), isLast: true))
        }
        let expected = Reading(events: [
            chunk(.text, "whole".utf8), chunk(.binary, [1, 2]), .ping([7]), chunk(.text, "grü".utf8), chunk(.binary, [8, 8, 0x2E]),
            chunk(.text, "aabbcc.".utf8), chunk(.text, []),
        ])
        for split in 0...bytes.count {
            let reader = MessageReader(role: role, inflater: DoublingInflater(), keepsBytes: true)
            #expect(reading([bytes[..<split], bytes[split...]], by: reader) == expected, "cut at \(split)")
        }
        let reader = MessageReader(role: role, inflater: DoublingInflater(), keepsBytes: true)
        #expect(reading(bytes.map { [$0] }, by: reader) == expected, "byte by byte")
    }

    @Test(arguments: [false, true]) func `a reader that keeps bytes checks UTF-8 too`(isCompressed: Bool) {
        let streams = [
            WireFrame(.text, [0x61, 0xC3], isCompressed: isCompressed).bytes(),
            WireFrame(.text, [0xC3], isFinal: false, isCompressed: isCompressed).bytes() + WireFrame(.continuation, [0x61]).bytes(),
        ]
        for stream in streams {
            let reader = MessageReader(role: .server, inflater: DoublingInflater(), keepsBytes: true)
            let result = reading([stream], by: reader)
            #expect(result.events.isEmpty && result.violation?.kind == .invalidUTF8)
        }
    }
}
