import CodecCore
import Testing

@Suite struct CodecLimitTests {
    @Test(arguments: ["ddffffffff", "dfffffffff", "dbffffffff61", "c6ffffffff", "c9ffffffff05", "dc000201", "8201", "dd7fffffff9090"])
    func `a MessagePack length beyond the input is refused before memory is reserved`(digits: String) {
        #expect { try codecValue(codecBytes(digits), .messagePack) } throws: { ($0 as? CodecError)?.code == .truncated }
    }

    @Test(arguments: ["9bffffffffffffffff", "bb7fffffffffffffff", "7bffffffffffffffff61", "5b8000000000000000", "9a00ffffff00", "a201"])
    func `a CBOR length beyond the input is refused before memory is reserved`(digits: String) {
        #expect { try codecValue(codecBytes(digits), .cbor) } throws: { ($0 as? CodecError)?.code == .truncated }
    }

    @Test(arguments: [BinaryFormat.messagePack, .cbor]) func `the depth limit is exact`(format: BinaryFormat) throws {
        func nested(_ levels: Int) -> Value { (0..<levels).reduce(1) { value, level in level % 2 == 0 ? [value] : ["a": value] } }
        let limits = CodecLimits(maximumDepth: 8)
        #expect(try codecValue(nested(8).encoded(as: format), format, limits) == nested(8))
        #expect { try codecValue(nested(9).encoded(as: format), format, limits) } throws: { ($0 as? CodecError)?.code == .tooDeep }
    }

    @Test func `tags and indefinite-length containers count as levels`() {
        let limits = CodecLimits(maximumDepth: 8)
        for opener in [0xC6, 0x9F] as [UInt8] {
            let bytes = Array(repeating: opener, count: 9) + [0x01] + Array(repeating: 0xFF, count: opener == 0x9F ? 9 : 0)
            #expect(throws: CodecError(.tooDeep, at: 8)) { try codecValue(bytes, .cbor, limits) }
        }
    }

    @Test func `a million levels are skipped or refused without a stack overflow`() {
        let arrays = Array(repeating: UInt8(0x91), count: 1_000_000) + [0xC0]
        let open = Array(repeating: UInt8(0x9F), count: 1_000_000)
        arrays.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            #expect(throws: Never.self) { try reader.skipValue(.messagePack) }
            #expect(reader.left == 0)
        }
        open.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            #expect(throws: CodecError(.tooDeep, at: 129)) { try reader.skipValue(.cbor) }
        }
        #expect { try codecValue(json: String(repeating: "[", count: 1_000_000)) } throws: { ($0 as? CodecError)?.code == .tooDeep }
    }

    @Test func `input beyond the byte limit is refused`() {
        let limits = CodecLimits(maximumBytes: 2)
        #expect(throws: CodecError(.tooLarge, at: 2)) { try codecValue([0x92, 1, 2], .messagePack, limits) }
        #expect(throws: CodecError(.tooLarge, at: 2)) { try codecValue(json: "100", limits) }
        #expect(throws: Never.self) { try codecValue(json: "10", limits) }
    }

    @Test func `bytes after the value are refused`() {
        #expect(throws: CodecError(.trailingBytes, at: 1)) { try codecValue([1, 2], .messagePack) }
        #expect(throws: CodecError(.trailingBytes, at: 1)) { try codecValue([1, 2], .cbor) }
        #expect(throws: CodecError(.trailingBytes, at: 2)) { try codecValue(json: "1 2") }
    }
}
