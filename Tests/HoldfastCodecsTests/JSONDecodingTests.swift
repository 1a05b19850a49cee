import CodecCore
import Foundation
import HoldfastCodecs
import Testing

/// Typed values straight from JSON; `CheckTests` compares the reading of JSON itself.
@Suite struct JSONDecodingTests {
    struct Order: Codable, Equatable {
        var id: Int
        var name: String
        var price: Double
        var note: String?
        var tags: [String]
        var parts: [String: [Int]]
        var home: URL
        var isOpen: Bool
    }
    private static var decoder: ValueDecoder {
        var options = CodecOptions()
        options.readsBase64 = true
        return ValueDecoder(options: options)
    }

    @Test func `a typed value is as Foundation's coder wrote it`() throws {
        let order = Order(
            id: -7, name: "grüße 😀 \"\\\n", price: 0.1, note: nil, tags: (0..<40).map { "tag \($0)" },
            parts: Dictionary(uniqueKeysWithValues: (0..<300).map { ("\($0)", [$0, -$0]) }),
            home: try #require(URL(string: "https://example.com/a?b=c")), isOpen: true)
        let json = [UInt8](try JSONEncoder().encode([order, order]))
        #expect(try ValueDecoder().decode([Order].self, json: json) == [order, order])
        #expect(try ValueDecoder().decode(Value.self, json: json) == json.withUnsafeBytes { try Value(json: $0.bytes) })
    }

    @Test func `dates are texts or seconds, and bytes are Base64`() throws {
        struct Event: Decodable, Equatable { var at, seconds: Date, bytes: Data }
        let json = #"{"at": "1970-01-01T00:01:00.5Z", "seconds": 60.5, "bytes": "AAH/"}"#
        let time = Date(timeIntervalSince1970: 60.5)
        #expect(try Self.decoder.decode(Event.self, json: Array(json.utf8)) == Event(at: time, seconds: time, bytes: Data([0, 1, 255])))
    }

    @Test(arguments: ["", "{", #"{"a":}"#, "[1,]", "[1] 2", "\"\\x\"", "[1e400]"])
    func `what is not JSON is refused with its position`(json: String) {
        #expect {
            try ValueDecoder().decode(Value.self, json: Array(json.utf8))
        } throws: {
            guard case DecodingError.dataCorrupted(let context) = $0 else { return false }
            return context.codingPath.isEmpty && context.underlyingError is CodecError
        }
    }

    @Test func `a wrong type is an error with its path`() {
        #expect {
            try ValueDecoder().decode([String: [Int]].self, json: Array(#"{"a": [1, "x"]}"#.utf8))
        } throws: {
            guard case DecodingError.typeMismatch(_, let context) = $0 else { return false }
            return context.codingPath.map(\.stringValue) == ["a", "Index 1"]
        }
    }

    @Test func `the limits of depth and size hold`() throws {
        let limits = CodecLimits(maximumDepth: 2, maximumBytes: 10)
        let decoder = ValueDecoder(options: CodecOptions(limits: limits))
        #expect(try decoder.decode(Value.self, json: Array("[[12345]]".utf8)) == [[12345]])
        for json in ["[[[1]]]", "[[1234567]]"] {
            #expect(throws: DecodingError.self) { try decoder.decode(Value.self, json: Array(json.utf8)) }
        }
    }
}
