import CodecCore
import MachineCore
import Testing

/// Checking without decoding accepts the same input as decoding and ends at the same place.
@Suite struct CheckTests {
    /// The offset of the end, or the error.
    private typealias Outcome = Result<Int, CodecError>

    private func outcome(_ bytes: [UInt8], _ take: (inout ByteReader) throws(CodecError) -> Void) -> Outcome {
        bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            do throws(CodecError) {
                try take(&reader)
                return .success(reader.position)
            } catch { return .failure(error) }
        }
    }

    private func agree(_ bytes: [UInt8], levels: Int) {
        for format in [BinaryFormat.messagePack, .cbor] {
            let read = outcome(bytes) { reader throws(CodecError) in _ = try reader.value(format, levels: levels) }
            let checked = outcome(bytes) { reader throws(CodecError) in try reader.checkValue(format, levels: levels) }
            #expect(read == checked, "\(bytes)")
        }
        let read = outcome(bytes) { reader throws(CodecError) in _ = try reader.jsonValue(levels: levels) }
        let checked = outcome(bytes) { reader throws(CodecError) in try reader.checkJSON(levels: levels) }
        switch (read, checked) {
        // With several errors, the two may report different ones.
        case (.failure, .failure): break
        default: #expect(read == checked, "\(String(decoding: bytes, as: UTF8.self))")
        }
        agreeOnCopy(bytes, levels: levels)
    }

    /// JSON that is copied into a binary format gets the same result, and the same bytes, as JSON that is read into a value first.
    private func agreeOnCopy(_ bytes: [UInt8], levels: Int) {
        for format in [BinaryFormat.messagePack, .cbor] {
            var (written, copied): ([UInt8], [UInt8]) = ([], [])
            let read = outcome(bytes) { reader throws(CodecError) in written = try reader.jsonValue(levels: levels).encoded(as: format) }
            let copy = outcome(bytes) { reader throws(CodecError) in
                var writer = ByteWriter()
                try writer.value(ofJSON: &reader, format, levels: levels)
                copied = writer.array()
            }
            #expect(read == copy && written == copied, "\(String(decoding: bytes, as: UTF8.self))")
        }
    }

    @Test(arguments: 0..<12) func `random bytes get the same result from checking as from decoding`(seed: UInt64) {
        var chance = SplitMix64(seed: seed)
        for _ in 0..<200 {
            let length = Int.random(in: 0...40, using: &chance)
            agree((0..<length).map { _ in UInt8.random(in: 0...255, using: &chance) }, levels: Int.random(in: 0...4, using: &chance))
        }
    }

    @Test(arguments: 0..<12) func `random JSON characters get the same result from checking as from decoding`(seed: UInt64) {
        let signs = Array(#"[]{}:,"\u00e9bnrt/1-.0eE null true false ü🎉"#.utf8)
        var chance = SplitMix64(seed: seed)
        for _ in 0..<200 {
            let length = Int.random(in: 0...30, using: &chance)
            let bytes = (0..<length).map { _ in signs.randomElement(using: &chance) ?? 0 }
            agree(bytes, levels: Int.random(in: 0...4, using: &chance))
            agree(Array("\"".utf8) + bytes + Array("\"".utf8), levels: 1)
        }
    }

    @Test(arguments: 0..<12) func `a changed value gets the same result from checking as from decoding`(seed: UInt64) throws {
        var chance = SplitMix64(seed: seed)
        let value: Value = ["a": [1, -1, 0.5, "grüße 🎉 \"\\\n", true, nil, .float(1e300)], "b": ["c": [[[]], [:]]], "": .integer(.min)]
        for whole in [try value.json(), try value.encoded(as: .messagePack), try value.encoded(as: .cbor)] {
            for levels in 0...6 { agree(whole, levels: levels) }
            for _ in 0..<100 {
                var bytes = whole
                bytes[Int.random(in: 0..<bytes.count, using: &chance)] = UInt8.random(in: 0...255, using: &chance)
                agree(bytes, levels: 8)
                agree(Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &chance))), levels: 8)
            }
        }
    }

    @Test(arguments: 0..<8) func `bytes are UTF-8 if decoding repairs nothing`(seed: UInt64) {
        var chance = SplitMix64(seed: seed)
        let edges: [UInt8] = [
            0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1,
            0xF4, 0xF5, 0xFF,
        ]
        for _ in 0..<500 {
            let bytes = (0..<Int.random(in: 0...12, using: &chance)).map { _ in edges.randomElement(using: &chance) ?? 0 }
            let isUnmended = Array(String(decoding: bytes, as: UTF8.self).utf8) == bytes
            #expect(bytes.withUnsafeBytes { $0.isUTF8 } == isUnmended, "\(bytes)")
        }
    }

    @Test(arguments: [0, 9, 10, 99, 100, 12_345_678_901, UInt64.max]) func `an integer is written in decimal digits`(number: UInt64) {
        var writer = ByteWriter()
        writer.digits(number)
        #expect(writer.array() == Array("\(number)".utf8))
    }

    @Test(arguments: ["", "plain", "\"\\\n\r\t\u{0}\u{1F}\u{8}", "grüße 🎉", "end\"", "\"begin"])
    func `a string is written like other JSON of this library`(text: String) throws {
        var writer = ByteWriter()
        writer.jsonText(text)
        #expect(writer.array() == (try Value.text(text).json()))
    }
}
