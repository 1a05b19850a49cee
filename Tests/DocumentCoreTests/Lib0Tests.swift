import CodecCore
import Testing

@testable import DocumentCore

@Suite struct `Encodings of lib0` {
    private func values(_ what: String) throws -> [(value: Value, hex: String)] {
        let vector = try #require(Vectors.lines("lib0").first { $0.string("what") == what })
        return vector.objects("values").map { ($0[0] ?? .null, $0[1]?.string ?? "") }
    }

    private func reader(_ hex: String) -> Lib0Reader { Lib0Reader([UInt8](hex: hex)) }

    private func written(_ write: (inout Lib0Writer) -> Void) -> String {
        var writer = Lib0Writer()
        write(&writer)
        return writer.bytes.hex
    }

    @Test func `numbers, strings and values are read and written as lib0 does`() throws {
        for (value, hex) in try values("varUint") {
            let number = UInt64(value.int ?? 0)
            #expect(written { $0.uint(number) } == hex)
            var reader = reader(hex)
            #expect(try reader.uint() == number && reader.isAtEnd)
        }
        for (value, hex) in try values("varInt") {
            let isMinusZero = value["$number"] != nil, number = Int64(value.int ?? 0)
            #expect(written { $0.int(number.magnitude, isNegative: number < 0 || isMinusZero) } == hex)
            var reader = reader(hex)
            let (magnitude, isNegative) = try reader.int()
            #expect(magnitude == abs(number) && isNegative == (number < 0 || isMinusZero))
        }
        for (value, hex) in try values("varString") {
            let text = try #require(value.string)
            #expect(written { $0.string(text) } == hex)
            #expect(written { $0.string(Array(text.utf16)[...]) } == hex)
            var reader = reader(hex)
            #expect(try reader.string() == text)
        }
        for (vector, hex) in try values("any") {
            let value = DocumentValue(vector: vector)
            #expect(written { $0.any(value) } == hex)
            var reader = reader(hex)
            #expect(try reader.any().vector == value.vector)
        }
    }

    @Test func `columns are read and written as lib0 does`() throws {
        for (list, hex) in try values("rle") {
            let bytes = list.items?.compactMap(\.int).map { UInt8($0) } ?? []
            var writer = ByteRunWriter(), reader = ByteRunReader(reader(hex))
            for byte in bytes { writer.write(byte) }
            #expect(writer.bytes.hex == hex)
            for byte in bytes { #expect(try reader.read() == byte) }
        }
        for (list, hex) in try values("uintOptRle") {
            let numbers = list.items?.compactMap(\.int).map { UInt64($0) } ?? []
            var writer = NumberRunWriter(), reader = NumberRunReader(reader(hex))
            for number in numbers { writer.write(number) }
            #expect(writer.finish().hex == hex)
            for number in numbers { #expect(try reader.read() == number) }
        }
        for (list, hex) in try values("intDiffOptRle") {
            let numbers = list.items?.compactMap(\.int).map { Int64($0) } ?? []
            var writer = DifferenceRunWriter(), reader = DifferenceRunReader(reader(hex))
            for number in numbers { writer.write(number) }
            #expect(writer.finish().hex == hex)
            for number in numbers { #expect(try reader.read() == number) }
        }
        for (list, hex) in try values("strings") {
            let strings = list.items?.compactMap(\.string) ?? []
            var writer = StringRunWriter(), reader = try StringRunReader(reader(hex))
            for string in strings { writer.write(string) }
            #expect(writer.finish().hex == hex)
            for string in strings { #expect(try reader.read() == string) }
        }
    }

    @Test(arguments: [
        ("ffffffffffffff1f", "varUint"), ("ffffffffffffffffffffffff01", "varUint"), ("ff", "varUint"), ("bfffffffffffff3f", "varInt"),
        ("05414243", "string"),
        ("01ff", "string"), ("02eda0", "string"), ("00", "any"), ("7d", "any"), ("75ffffffff0f", "any"), ("76017f", "any"),
        (String(repeating: "7501", count: 101) + "7e", "any"),
    ]) func `what is not lib0 is refused`(hex: String, what: String) {
        var reader = reader(hex)
        #expect(throws: DocumentError.self) {
            switch what {
            case "varUint": _ = try reader.uint()
            case "varInt": _ = try reader.int()
            case "string": _ = try reader.string()
            default: _ = try reader.any()
            }
        }
    }

    @Test(arguments: [
        (1, "1"), (-0.0, "0"), (0.1, "0.1"), (1e21, "1e+21"), (123_456_789_012_345_683_968, "123456789012345680000"), (1e-6, "0.000001"),
        (1.5e-7, "1.5e-7"), (-1e300, "-1e+300"), (.leastNonzeroMagnitude, "5e-324"), (1.7976931348623157e308, "1.7976931348623157e+308"),
        (123.456, "123.456"),
        (9_007_199_254_740_991, "9007199254740991"), (1e16, "10000000000000000"), (Double.nan, "null"), (0.00012, "0.00012"),
    ]) func `numbers in JSON look as in JavaScript`(number: Double, text: String) { #expect(DocumentValue.number(number).json == text) }

    @Test func `JSON keeps the order of keys and leaves out undefined`() {
        let value = DocumentValue.object([.init("b", .undefined), .init("z", .array([.undefined, .null])), .init("a", "ä\"\n")])
        #expect(value.json == #"{"z":[null,null],"a":"ä\"\n"}"#)
        #expect(DocumentValue(json: Array(value.json.utf8)) == .object([.init("z", .array([.null, .null])), .init("a", "ä\"\n")]))
        #expect(DocumentValue(json: Array("undefined".utf8)) == .undefined)
        #expect(DocumentValue(json: Array("[1,]".utf8)) == nil)
    }
}
