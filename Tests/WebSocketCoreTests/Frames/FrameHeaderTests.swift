import Testing
import WebSocketCore

@Suite struct FrameHeaderTests {
    static let lengths = [0, 1, 125, 126, 127, 65_535, 65_536, 1 << 31, Int.max]

    static let headers: [FrameHeader] = {
        var headers: [FrameHeader] = []
        for mask in [nil, MaskKey(bits: 0x3D21_FA37)] {
            for isFinal in [true, false] {
                for length in lengths {
                    for opcode in [Opcode.continuation, .text, .binary] {
                        headers.append(FrameHeader(opcode, isFinal: isFinal, mask: mask, payloadLength: length))
                    }
                    headers.append(FrameHeader(.text, isFinal: isFinal, isCompressed: true, mask: mask, payloadLength: length))
                }
            }
            for opcode in [Opcode.close, .ping, .pong] {
                for length in [0, 1, 125] { headers.append(FrameHeader(opcode, mask: mask, payloadLength: length)) }
            }
        }
        return headers
    }()

    private func parse(_ bytes: [UInt8], compression: Bool = true) throws(ProtocolViolation) -> (header: FrameHeader, length: Int)? {
        try bytes.withUnsafeBufferPointer { (raw) throws(ProtocolViolation) in
            try FrameHeader.parse(UnsafeRawBufferPointer(raw), allowsCompression: compression)
        }
    }

    private func violation(_ bytes: [UInt8], compression: Bool = false) -> ProtocolViolation.Kind? {
        do throws(ProtocolViolation) {
            _ = try parse(bytes, compression: compression)
            return nil
        } catch {
            return error.kind
        }
    }

    @Test(arguments: headers) func `a written header is parsed, and a part of it needs more bytes`(header: FrameHeader) throws {
        var bytes = [UInt8](repeating: 0xEE, count: header.length + 3)
        bytes.withUnsafeMutableBytes { header.write(to: $0) }
        #expect(bytes.suffix(3) == [0xEE, 0xEE, 0xEE])
        for end in 0..<header.length { #expect(try parse(Array(bytes[..<end])) == nil) }
        for end in header.length...bytes.count {
            let parsed = try #require(try parse(Array(bytes[..<end])))
            #expect(parsed.header == header && parsed.length == header.length)
        }
    }

    @Test func `a header uses the shortest form of its length`() {
        let expected = [2, 2, 2, 4, 4, 4, 10, 10, 10]
        for (length, expected) in zip(Self.lengths, expected) {
            #expect(FrameHeader(.binary, payloadLength: length).length == expected)
            #expect(FrameHeader(.binary, mask: MaskKey(bits: 1), payloadLength: length).length == expected + 4)
        }
        #expect(FrameHeader(.binary, mask: MaskKey(bits: 1), payloadLength: .max).length == FrameHeader.maximumLength)
    }

    @Test(arguments: [false, true]) func `the first byte alone reveals reserved bits, bad opcodes and fragmented control frames`(
        compression: Bool
    ) {
        for byte in 0...255 as ClosedRange<UInt8> {
            let (final, reserved, opcode) = (byte & 0x80 != 0, byte >> 4 & 0x7, byte & 0xF)
            let mayCompress = compression && (opcode == 1 || opcode == 2)
            let expected: ProtocolViolation.Kind? =
                if ![0, 1, 2, 8, 9, 10].contains(opcode) {
                    .unknownOpcode
                } else if reserved != 0, !(mayCompress && reserved == 4) {
                    .reservedBits
                } else if opcode >= 8, !final {
                    .fragmentedControl
                } else {
                    nil
                }
            #expect(violation([byte], compression: compression) == expected, "first byte \(byte)")
        }
    }

    @Test func `a control frame with more than 125 bytes is refused at its second byte`() {
        for opcode in [0x88, 0x89, 0x8A] as [UInt8] {
            for second in 0...255 as ClosedRange<UInt8> {
                #expect(violation([opcode, second]) == (second & 0x7F > 125 ? .oversizedControl : nil))
            }
        }
    }

    @Test func `a length that is not in its shortest form is refused`() {
        for length in 0...125 as ClosedRange<UInt8> { #expect(violation([0x82, 126, 0, length]) == .nonMinimalLength) }
        #expect(violation([0x82, 126, 0, 126]) == nil)
        for bytes in [[0, 0], [0, 125], [0, 126], [0xFF, 0xFF]] as [[UInt8]] {
            #expect(violation([0x82, 127, 0, 0, 0, 0, 0, 0] + bytes) == .nonMinimalLength)
            #expect(violation([0x82, 0xFF, 0, 0, 0, 0, 0, 0] + bytes) == .nonMinimalLength)
        }
        #expect(violation([0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]) == nil)
    }

    @Test func `a length has at most 63 bits`() throws {
        #expect(violation([0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0]) == .lengthOverflow)
        #expect(violation([0x82, 127, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]) == .lengthOverflow)
        let largest = try parse([0x82, 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
        #expect(largest?.header.payloadLength == .max)
    }
}
