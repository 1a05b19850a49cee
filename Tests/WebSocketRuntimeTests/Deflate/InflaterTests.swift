import MachineCore
import Testing
import WebSocketCore
import WebSocketRuntime

@Suite struct InflaterTests {
    static let hello = Array("Hello".utf8)

    /// RFC 7692 §7.2.3.1 and §7.2.3.3 to §7.2.3.6.
    @Test(arguments: [
        ("f2 48 cd c9 c9 07 00", hello), ("00 05 00 fa ff 48 65 6c 6c 6f 00", hello), ("f3 48 cd c9 c9 07 00 00", hello),
        ("f2 48 05 00 00 00 ff ff ca c9 c9 07 00", hello), ("00", []),
    ])
    func `the examples of RFC 7692 inflate at every split point`(hex: String, expected: [UInt8]) throws {
        for halves in [UInt8](hex: hex).halves {
            for takeover in [true, false] {
                let inflater = Inflater(parameters: .init(takeover: takeover), role: .client)
                for _ in 1...3 { #expect(try inflater.message(inPieces: halves) == expected) }
            }
        }
    }

    /// RFC 7692 §7.2.3.2.
    @Test func `a message may refer to the one before only with context takeover`() throws {
        for first in ["f2 48 cd c9 c9 07 00", "f3 48 cd c9 c9 07 00 00", "f3 48 cd c9 c9 07 00"] {
            for halves in [UInt8](hex: "f2 00 11 00 00").halves {
                let inflater = Inflater(parameters: .init(), role: .server)
                _ = try inflater.message([UInt8](hex: first))
                #expect(try inflater.message(inPieces: halves) == Self.hello)
            }
            let noTakeover = Inflater(parameters: .init(takeover: false), role: .server)
            _ = try noTakeover.message([UInt8](hex: first))
            #expect(violation { try noTakeover.message([UInt8](hex: "f2 00 11 00 00")) }?.kind == .invalidCompressedData)
        }
    }

    @Test func `each role inflates with the parameters of the other`() throws {
        let parameters = DeflateParameters(serverNoContextTakeover: true)
        for (role, hasTakeover) in [(Role.client, false), (.server, true)] {
            let inflater = Inflater(parameters: parameters, role: role)
            _ = try inflater.message([UInt8](hex: "f2 48 cd c9 c9 07 00"))
            let violation = violation { try inflater.message([UInt8](hex: "f2 00 11 00 00")) }
            #expect((violation == nil) == hasTakeover)
        }
    }

    /// Compressed by Python's zlib with windows of 15, 9 and 12 bits.
    ///
    /// The first two are equal.
    @Test(arguments: [(15, "aa 26 de 54 00 00"), (9, "aa 26 de 54 00 00"), (12, "42 52 4a c8 54 00 00")])
    func `messages of another zlib inflate`(windowBits: Int, last: String) throws {
        let quote = #"{"symbol":"AAPL","bid":187.25,"ask":187.27}"#
        let messages = [
            "aa 56 2a ae cc 4d ca cf 51 b2 52 72 74 0c f0 51 d2 51 4a ca 4c 51 b2 32 b4 30 d7 33 32 d5 51 4a 2c ce 86 72 cc 6b 01 00",
            "aa 46 28 f5 0d 76 0b 81 29 35 31 34 d4 33 80 29 05 73 2c 6b 01 00", "00", last,
        ]
        let inflater = Inflater(parameters: .init(windowBits: windowBits), role: .client)
        let texts = try messages.map { String(decoding: try inflater.message([UInt8](hex: $0)), as: UTF8.self) }
        #expect(texts == [quote, #"{"symbol":"MSFT","bid":411.05,"ask":411.09}"#, "", quote])
    }

    @Test func `a message without bytes is empty`() throws {
        let inflater = Inflater(parameters: .init(), role: .client)
        #expect(try inflater.message([]) == [])
        #expect(try inflater.message([UInt8](hex: "f2 48 cd c9 c9 07 00")) == Self.hello)
        #expect(try inflater.message([]) == [])
        #expect(try inflater.message([UInt8](hex: "f2 00 11 00 00")) == Self.hello)
    }

    @Test func `empty blocks, final or not, give no output`() throws {
        let kinds = ["00 00 00 ff ff", "02 08 20 80 00", "03 00", "01 00 00 ff ff"]
        for kind in kinds {
            let blocks = Array(repeatElement([UInt8](hex: kind), count: 10_000).joined())
            #expect(try Inflater(parameters: .init(), role: .client).message(blocks + [0], limit: 0) == [])
        }
    }

    @Test(arguments: [
        "f3 48 cd c9 c9 07 00 00 01", "f2 48 cd c9 c9", "f2", "07", "01 05 00 fa ff 48 65", "00 05 00 fa fe 48",
        "f2 48 cd c9 c9 07 00 00 00",
    ])
    func `garbage and incomplete blocks are refused`(hex: String) {
        for halves in [UInt8](hex: hex).halves {
            let violation = violation { try Inflater(parameters: .init(), role: .client).message(inPieces: halves) }
            #expect(violation?.kind == .invalidCompressedData)
            #expect(violation?.closeCode == .invalidPayload)
        }
    }

    /// The last three omit the byte after a final block, omit all bytes, or use the tail as data.
    @Test(arguments: [
        ("f2 48 cd c9 c9 07 00", hello), ("f3 48 cd c9 c9 07 00 00", hello), ("f3 48 cd c9 c9 07 00", hello), ("", []),
        ("01 05 00 fa ff 48", [0x48, 0, 0, 0xFF, 0xFF]),
    ])
    func `a message inflates into buffers of any size, and ends when a buffer is not full`(hex: String, expected: [UInt8]) throws {
        let message = [UInt8](hex: hex) + [0, 0, 0xFF, 0xFF]
        for takeover in [true, false] {
            for length in 1...8 {
                let inflater = Inflater(parameters: .init(takeover: takeover), role: .client)
                for _ in 1...3 { #expect(try inflater.message(withTail: message, bufferLengths: { length }) == expected, "\(length)") }
            }
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `long messages inflate into buffers of any size`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var messages = Messages(seed: seed)
        let takeover = Bool.random(using: &random)
        let deflater = Deflater(parameters: .init(takeover: takeover), role: .client)
        let inflater = Inflater(parameters: .init(takeover: takeover), role: .server)
        for _ in 1...10 {
            let message = messages.next(count: Int.random(in: 0...5000, using: &random))
            let compressed = deflater.message(message) + [0, 0, 0xFF, 0xFF]
            // Sometimes exactly the size of the message.
            let exact = Bool.random(using: &random)
            let inflated = try inflater.message(withTail: compressed) {
                exact ? max(message.count, 1) : Int.random(in: 1...700, using: &random)
            }
            #expect(inflated == message)
        }
    }

    @Test(arguments: [1, 2, 63, 64, 65, 255, 256, 257, 5000, 1 << 16])
    func `a message may be as long as the limit but no longer`(length: Int) throws {
        for takeover in [true, false] {
            let parameters = DeflateParameters(takeover: takeover)
            let message = [UInt8](repeating: 7, count: length)
            let compressed = Deflater(parameters: parameters, role: .client).message(message)
            #expect(try Inflater(parameters: parameters, role: .server).message(compressed, limit: length) == message)
            let violation = violation { try Inflater(parameters: parameters, role: .server).message(compressed, limit: length - 1) }
            #expect(violation?.kind == .messageTooBig)
            #expect(violation?.closeCode == .messageTooBig)
        }
    }

    @Test func `a decompression bomb stops at the limit with little memory`() {
        let bomb = Deflater(parameters: .init(), role: .client).message([UInt8](repeating: 0, count: 1 << 26))
        for limit in [0, 1, 125, 1 << 16, 1 << 20] {
            var output: [UInt8] = []
            let inflater = Inflater(parameters: .init(), role: .server)
            let violation = violation { try bomb.withUnsafeBytes { try inflater.inflate($0, into: &output, limit: limit) } }
            #expect(violation?.kind == .messageTooBig)
            #expect(output.count == limit)
            #expect(output.capacity <= 2 * limit + 16 * 1024 + 64)
        }
    }

    @Test func `memory grows with the output, not with the input`() throws {
        var random = SplitMix64(seed: 5)
        var messages = Messages(seed: 5)
        let noise = messages.noise(count: 200_000)
        let inflater = Inflater(parameters: .init(), role: .server)
        var output: [UInt8] = []
        for piece in Deflater(parameters: .init(), role: .client).message(noise).pieces(upTo: 3000, using: &random) {
            try piece.withUnsafeBytes { try inflater.inflate($0, into: &output, limit: 1 << 20) }
            #expect(output.capacity <= 2 * output.count + 16 * 1024 + 64)
        }
        try inflater.finish(into: &output, limit: 1 << 20)
        #expect(output == noise)
    }

    @Test func `a match beyond the agreed window is refused`() {
        var messages = Messages(seed: 1)
        let block = messages.noise(count: 30_000)
        let compressed = Deflater(parameters: .init(windowBits: 15), role: .client).message(block + block)
        let violation = violation { try Inflater(parameters: .init(windowBits: 9), role: .server).message(compressed) }
        #expect(violation?.kind == .invalidCompressedData)
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `a corrupted stream ends with a violation or limited output`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var messages = Messages(seed: seed)
        let compressed = Deflater(parameters: .init(), role: .client).message(messages.next(count: 4000))
        for _ in 1...50 {
            var corrupt = compressed
            for _ in 0...Int.random(in: 0...3, using: &random) {
                corrupt[Int.random(in: corrupt.indices, using: &random)] ^= 1 << UInt8.random(in: 0...7, using: &random)
            }
            let inflater = Inflater(parameters: .init(takeover: Bool.random(using: &random)), role: .server)
            let pieces = corrupt.pieces(upTo: 1000, using: &random)
            var output: [UInt8] = []
            let violation = violation { output = try inflater.message(inPieces: pieces, limit: 100_000) }
            #expect(violation == nil || violation?.kind == .invalidCompressedData || violation?.kind == .messageTooBig)
            #expect(output.count <= 100_000)
        }
    }

    /// The violation that `body` throws.
    private func violation<T>(_ body: () throws -> T) -> ProtocolViolation? {
        do {
            _ = try body()
            return nil
        } catch { return error as? ProtocolViolation }
    }
}
