import CodecCore
import MachineCore
import Testing

/// Properties of all values and bytes, tested with random ones.
@Suite struct CodecPropertyTests {
    /// The values that a format represents exactly.
    enum Kind { case json, messagePack, cbor }

    private func value(_ kind: Kind, _ depth: Int, _ chance: inout SplitMix64) -> Value {
        let text = String(String.UnicodeScalarView((0..<Int.random(in: 0...20, using: &chance)).map { _ in scalar(&chance) }))
        switch Int.random(in: 0...(depth > 0 ? 12 : 9), using: &chance) {
        case 0: return nil
        case 1: return .bool(.random(using: &chance))
        case 2: return .integer(Int64.random(in: .min ... .max, using: &chance) >> Int64.random(in: 0...63, using: &chance))
        case 3: return Value(UInt64.random(in: .min ... .max, using: &chance) >> UInt64.random(in: 0...63, using: &chance))
        case 4:
            let number = Double(bitPattern: UInt64.random(in: .min ... .max, using: &chance))
            return .float(number.isFinite ? number : 0.5)
        case 5: return .float(Double(Int.random(in: -4000...4000, using: &chance)) / 8)
        case 6 where kind != .json: return .bytes((0..<Int.random(in: 0...300, using: &chance)).map { UInt8(truncatingIfNeeded: $0) })
        case 7 where kind == .messagePack:
            let seconds = Int64.random(in: .min ... .max, using: &chance) >> Int64.random(in: 0...63, using: &chance)
            return Timestamp(seconds: seconds, nanoseconds: UInt32.random(in: 0...999_999_999, using: &chance)).map { .timestamp($0) }
                ?? nil
        case 7 where kind == .cbor: return .timestamp(Timestamp(seconds: Int64.random(in: -9_000_000_000...9_000_000_000, using: &chance)))
        case 8 where kind == .messagePack: return .extension(type: Int8.random(in: 0...127, using: &chance), Array(text.utf8))
        case 10 where kind == .cbor: return .tagged(UInt64.random(in: 6...9000, using: &chance), value(kind, depth - 1, &chance))
        case 11: return .array((0..<Int.random(in: 0...30, using: &chance)).map { _ in value(kind, depth - 1, &chance) })
        case 12:
            return .map(
                ValueMap(
                    (0..<Int.random(in: 0...30, using: &chance)).map { number in
                        let key = kind == .json ? .text("\(number)\(text)") : value(kind, 0, &chance)
                        return ValueMap.Entry(key: key, value: value(kind, depth - 1, &chance))
                    }))
        default: return .text(text)
        }
    }

    private func scalar(_ chance: inout SplitMix64) -> Unicode.Scalar {
        let code = UInt32.random(in: 0...0x10FFFF, using: &chance) >> UInt32.random(in: 0...20, using: &chance)
        return Unicode.Scalar(code) ?? "?"
    }

    @Test(arguments: 0..<100) func `an encoded value is decoded to the same one`(seed: UInt64) throws {
        var chance = SplitMix64(seed: seed)
        let packed = value(.messagePack, 4, &chance)
        #expect(try codecValue(packed.encoded(as: .messagePack), .messagePack) == packed)
        let cbor = value(.cbor, 4, &chance)
        #expect(try codecValue(cbor.encoded(as: .cbor), .cbor) == cbor)
        let json = value(.json, 4, &chance)
        #expect(try json.json().withUnsafeBytes { try Value(json: $0.bytes) } == json)
    }

    @Test(arguments: 0..<15) func `a truncated value is an error, and skipping agrees with decoding`(seed: UInt64) throws {
        var chance = SplitMix64(seed: seed)
        for (kind, format) in [(Kind.messagePack, BinaryFormat.messagePack), (.cbor, .cbor)] {
            let whole = try value(kind, 2, &chance).encoded(as: format)
            for end in 0..<whole.count {
                #expect { try codecValue(Array(whole[..<end]), format) } throws: { ($0 as? CodecError)?.code == .truncated }
            }
            whole.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                #expect(throws: Never.self) { try reader.skipValue(format) }
                #expect(reader.left == 0)
            }
        }
        let json = try Value.array([value(.json, 2, &chance)]).json()
        for end in 0..<json.count {
            #expect(throws: CodecError.self) { try json[..<end].withUnsafeBytes { try Value(json: $0.bytes) } }
        }
    }

    @Test(arguments: 0..<6) func `changed bytes give a value that can be encoded, or an error with an offset in the input`(seed: UInt64)
        throws
    {
        var chance = SplitMix64(seed: seed)
        for (kind, format) in [(Kind.messagePack, BinaryFormat.messagePack), (.cbor, .cbor)] {
            let whole = try value(kind, 2, &chance).encoded(as: format)
            for index in whole.indices {
                var changed = whole
                changed[index] = UInt8.random(in: 0...255, using: &chance)
                do {
                    let read = try codecValue(changed, format)
                    #expect(try codecValue(read.encoded(as: format), format).description == read.description)
                } catch let error as CodecError { #expect((0...changed.count).contains(error.offset)) }
            }
        }
    }

    @Test(arguments: 0..<200) func `random bytes cause no trap`(seed: UInt64) {
        var chance = SplitMix64(seed: seed)
        let bytes = (0..<Int.random(in: 0...200, using: &chance)).map { _ in UInt8.random(in: 0...255, using: &chance) }
        for format in [BinaryFormat.messagePack, .cbor] {
            if let read = try? codecValue(bytes, format) { #expect((try? read.encoded(as: format)) != nil) }
        }
        let json = bytes.map { Array("{}[]\",:\\u0123456789.eE+-truefalsn ".utf8)[Int($0) % 34] }
        if let read = try? json.withUnsafeBytes({ try Value(json: $0.bytes) }) { #expect((try? read.json()) != nil) }
    }

    @Test func `half-precision floats follow the standard`() throws {
        for bits in UInt16.min...UInt16.max {
            let read = try codecValue([0xF9, UInt8(bits >> 8), UInt8(bits & 255)], .cbor)
            let exponent = bits >> 10 & 31
            if exponent == 31, bits & 0x3FF != 0 {
                #expect(read.double?.isNaN == true)
            } else {
                #expect(try read.encoded(as: .cbor) == [0xF9, UInt8(bits >> 8), UInt8(bits & 255)])
            }
        }
    }
}
