import MachineCore
import Testing
import WebSocketCore
import WebSocketRuntime

/// MessageReader and Inflater together.
@Suite struct CompressedMessagesTests {
    static let text = String(repeating: #"{"symbol":"AAPL","bid":187.25} "#, count: 40)

    @Test(arguments: [Role.client, .server], [true, false])
    func `pain 14: compressed messages may be fragmented anywhere`(role: Role, takeover: Bool) throws {
        let parameters = DeflateParameters(takeover: takeover)
        let deflater = Deflater(parameters: parameters, role: role == .client ? .server : .client)
        var reader = MessageReader(role: role, inflater: Inflater(parameters: parameters, role: role))
        var (first, second) = (deflater.message(Array(Self.text.utf8)), 0)
        while second <= first.count {
            let frames =
                frame(.text, Array(first[..<second]), isFinal: false, isCompressed: true, to: role) + frame(.ping, [1], to: role)
                + frame(.continuation, [], isFinal: false, to: role) + frame(.continuation, Array(first[second...]), to: role)
            #expect(try events(&reader, frames) == [.ping([1]), .message(.text(Self.text))])
            second += 1
            // Each message is compressed again because the context continues.
            first = deflater.message(Array(Self.text.utf8))
        }
        #expect(second > 4)
    }

    @Test func `pain 14: compressed messages may have fragments of one byte`() throws {
        let compressed = Deflater(parameters: .init(), role: .server).message(Array(Self.text.utf8))
        var bytes: [UInt8] = []
        for (index, byte) in compressed.enumerated() {
            let isLast = index == compressed.count - 1
            bytes += frame(index == 0 ? .text : .continuation, [byte], isFinal: isLast, isCompressed: index == 0, to: .client)
        }
        var reader = MessageReader(role: .client, inflater: Inflater(parameters: .init(), role: .client))
        #expect(try bytes.flatMap { try events(&reader, [$0]) } == [.message(.text(Self.text))])
    }

    @Test(arguments: [Delivery.messages, .chunks])
    func `pain 6: a decompression error never delivers compressed bytes to the app`(delivery: Delivery) {
        let compressed = Deflater(parameters: .init(), role: .server).message(Array(Self.text.utf8))
        for index in compressed.indices {
            var corrupt = compressed
            corrupt[index] ^= 0xFF
            var inflated: [UInt8] = []
            let inflater = Inflater(parameters: .init(), role: .client)
            try? corrupt.withUnsafeBytes { try inflater.inflate($0, into: &inflated, limit: 1 << 20) }

            var reader = MessageReader(role: .client, delivery: delivery, inflater: Inflater(parameters: .init(), role: .client))
            var delivered: [UInt8] = []
            do {
                for byte in frame(.text, corrupt, isCompressed: true, to: .client) {
                    for event in try events(&reader, [byte]) { delivered += payload(event) }
                }
                #expect(delivered == inflated)
            } catch {
                #expect((error as? ProtocolViolation)?.closeCode == .invalidPayload)
                #expect(delivery == .messages ? delivered.isEmpty : inflated.starts(with: delivered))
            }
        }
    }

    @Test(arguments: [Delivery.messages, .chunks])
    func `a decompression bomb is answered with 1009`(delivery: Delivery) {
        let bomb = Deflater(parameters: .init(), role: .client).message([UInt8](repeating: 0, count: 1 << 22))
        var reader = MessageReader(role: .server, delivery: delivery, inflater: Inflater(parameters: .init(), role: .server))
        var delivered = 0
        let violation = #expect(throws: ProtocolViolation.self) {
            for byte in frame(.binary, bomb, isCompressed: true, to: .server) {
                for case .chunk(let chunk) in try events(&reader, [byte]) { delivered += chunk.bytes.count }
            }
        }
        #expect(violation?.closeCode == .messageTooBig)
        #expect(delivered <= MessageLimits().message)
    }

    @Test func `compressed and plain messages may alternate`() throws {
        let deflater = Deflater(parameters: .init(), role: .client)
        var reader = MessageReader(role: .server, inflater: Inflater(parameters: .init(), role: .server))
        for _ in 1...5 {
            let frames =
                frame(.text, deflater.message(Array("Hello".utf8)), isCompressed: true, to: .server)
                + frame(.binary, [1, 2, 3], to: .server) + frame(.text, deflater.message([]), isCompressed: true, to: .server)
            #expect(try events(&reader, frames) == [.message(.text("Hello")), .message(.binary([1, 2, 3])), .message(.text(""))])
        }
    }

    @Test(arguments: [Role.client, .server], [true, false])
    func `messages of every length are read in one frame or byte by byte`(role: Role, takeover: Bool) throws {
        let parameters = DeflateParameters(takeover: takeover)
        let deflater = Deflater(parameters: parameters, role: role == .client ? .server : .client)
        var whole = MessageReader(role: role, inflater: Inflater(parameters: parameters, role: role))
        var cut = MessageReader(role: role, inflater: Inflater(parameters: parameters, role: role))
        var messages = Messages(seed: 7)
        for length in Array(0...20) + Array(stride(from: 21, to: 3000, by: 29)) + Array(1020...1030) + [300_000, 70_000, 5, 0, 262_144] {
            let message = messages.next(count: length)
            let bytes = frame(.binary, deflater.message(message), isCompressed: true, to: role)
            #expect(try events(&whole, bytes) == [.message(.binary(message))], "\(length) bytes")
            if length < 5000 { #expect(try bytes.flatMap { try events(&cut, [$0]) } == [.message(.binary(message))], "\(length) bytes") }
        }
    }

    /// RFC 7692 §7.2.3.1 and §7.2.3.3 to §7.2.3.6.
    ///
    /// The last two omit the byte after a final block, or all bytes.
    @Test(arguments: [
        "f2 48 cd c9 c9 07 00", "00 05 00 fa ff 48 65 6c 6c 6f 00", "f3 48 cd c9 c9 07 00 00", "f2 48 05 00 00 00 ff ff ca c9 c9 07 00",
        "f3 48 cd c9 c9 07 00", "",
    ])
    func `a message in one frame may end in every form that the RFC allows`(hex: String) throws {
        let bytes = frame(.text, [UInt8](hex: hex), isCompressed: true, to: .client)
        for takeover in [true, false] {
            var reader = MessageReader(role: .client, inflater: Inflater(parameters: .init(takeover: takeover), role: .client))
            for _ in 1...3 { #expect(try events(&reader, bytes) == [.message(.text(hex.isEmpty ? "" : "Hello"))]) }
        }
    }

    @Test func `the limit of a message in one frame is exact, after messages of any length`() throws {
        for earlier in [0, 1000, 200_000] {
            for length in [1, 63, 1023, 1024, 1025, 5000, 1 << 16] {
                let deflater = Deflater(parameters: .init(), role: .client)
                let frames = [earlier, length, length + 1].map {
                    frame(.binary, deflater.message([UInt8](repeating: 7, count: $0)), isCompressed: true, to: .server)
                }
                var reader = MessageReader(
                    role: .server, limits: MessageLimits(message: max(earlier, length)),
                    inflater: Inflater(parameters: .init(), role: .server))
                for bytes in frames[..<2] { #expect(try events(&reader, bytes).count == 1) }
                guard length >= earlier else { continue }
                let violation = #expect(throws: ProtocolViolation.self) { try events(&reader, frames[2]) }
                #expect(violation?.kind == .messageTooBig)
            }
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a corrupted frame gives the same result in one read or byte by byte`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var messages = Messages(seed: seed)
        let compressed = Deflater(parameters: .init(), role: .server).message(messages.next(count: 1500))
        for _ in 1...20 {
            var corrupt = compressed
            corrupt[Int.random(in: corrupt.indices, using: &random)] ^= 1 << UInt8.random(in: 0...7, using: &random)
            let bytes = frame(.binary, corrupt, isCompressed: true, to: .client)
            func reading(_ reads: [[UInt8]]) -> [MessageReader.Event]? {
                var reader = MessageReader(role: .client, inflater: Inflater(parameters: .init(), role: .client))
                return try? reads.flatMap { try events(&reader, $0) }
            }
            #expect(reading([bytes]) == reading(bytes.map { [$0] }))
        }
    }

    /// A frame as sent to `role`.
    private func frame(
        _ opcode: Opcode, _ payload: [UInt8], isFinal: Bool = true, isCompressed: Bool = false, to role: Role
    ) -> [UInt8] {
        let mask = role == .server ? MaskKey(bits: 0x1234_5678) : nil
        let header = FrameHeader(opcode, isFinal: isFinal, isCompressed: isCompressed, mask: mask, payloadLength: payload.count)
        var bytes = [UInt8](repeating: 0, count: header.length) + payload
        bytes.withUnsafeMutableBytes {
            header.write(to: $0)
            mask?.apply(to: UnsafeMutableRawBufferPointer(rebasing: $0[header.length...]))
        }
        return bytes
    }

    private func payload(_ event: MessageReader.Event) -> [UInt8] {
        switch event {
        case .message(.text(let text)): Array(text.utf8)
        case .message(.binary(let bytes)), .ping(let bytes), .pong(let bytes): bytes
        case .chunk(let chunk): chunk.bytes
        case .close(let frame): frame.payload
        }
    }

    private func events(_ reader: inout MessageReader, _ bytes: [UInt8]) throws -> [MessageReader.Event] {
        try bytes.withUnsafeBytes { raw in
            var (rest, events) = (raw, [] as [MessageReader.Event])
            while let event = try reader.next(&rest) { events.append(event) }
            return events
        }
    }
}
