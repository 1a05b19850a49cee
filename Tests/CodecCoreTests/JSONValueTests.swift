import CodecCore
import Testing

@Suite struct JSONValueTests {
    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("-1", -1), ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("9223372036854775808", .unsigned(1 << 63)), ("18446744073709551615", .unsigned(.max)),
            ("18446744073709551616", 18446744073709551616.0), ("-9223372036854775809", -9223372036854775809.0), ("1.0", 1.0),
            ("-0.0", -0.0), ("0.1", 0.1), ("1e2", 100.0), ("1E+2", 100.0), ("1e-2", 0.01), ("189.53", 189.53),
            ("5e-324", .float(.leastNonzeroMagnitude)),
            ("1.7976931348623157e308", 1.7976931348623157e308), ("123456789012345678901234567890.5", 123456789012345678901234567890.5),
            ("1e-400", 0.0), ("0e99999999999999999999", 0.0), ("9007199254740993e0", 9007199254740993.0),
            ("0.30000000000000004", 0.30000000000000004), ("35003417670597955e-8", 35003417670597955e-8),
        ] as [(String, Value)])
    func `numbers are exact where possible`(json: String, value: Value) throws {
        #expect(try codecValue(json: json).description == value.description)
    }

    @Test(arguments: ["01", "-", "+1", ".5", "1.", "1e", "1e+", "-a", "0x1", "1.e5", "NaN", "Infinity", "--1", "00"])
    func `an invalid number is refused`(json: String) { #expect(throws: CodecError.self) { try codecValue(json: json) } }

    @Test func `a number beyond the range of a double is refused`() {
        #expect(throws: CodecError(.overflow, at: 1)) { try codecValue(json: "[1e400]") }
    }

    @Test func `strings are decoded with all escapes`() throws {
        let json = #""\"\\\/\b\f\n\r\t\u0000\u00e9\ud83d\uDE00é😀 a long plain text""#
        #expect(try codecValue(json: json) == .text("\"\\/\u{8}\u{c}\n\r\t\u{0}é😀é😀 a long plain text"))
    }

    @Test(arguments: [
        #""\x""#, #""\u12g4""#, #""\u12"#, "\"\n\"", "\"a", #""\"#, "\"\u{1f}\"", "\"long \u{0} text\"", "\"\u{1f} long text\"",
    ])
    func `an invalid string is refused`(json: String) { #expect(throws: CodecError.self) { try codecValue(json: json) } }

    @Test(arguments: [#""\ud83d""#, #""\ude00""#, #""\udc00\udc00""#, #""\ud83d\u0041""#, #""\ud83dx""#])
    func `an unpaired surrogate is refused`(json: String) {
        #expect { try codecValue(json: json) } throws: { ($0 as? CodecError)?.code == .invalidText }
    }

    @Test func `bytes that are not UTF-8 are refused`() {
        #expect(throws: CodecError(.invalidText, at: 1)) {
            try ([0x22, 0xC3, 0x28, 0x22] as [UInt8]).withUnsafeBytes { try Value(json: $0.bytes) }
        }
    }

    @Test func `white space is allowed around all tokens`() throws {
        #expect(try codecValue(json: " \n{ \"a\" : [ 1 , true , null ] ,\t\"b\" : { } }\r\n") == ["a": [1, true, nil], "b": [:]])
    }

    @Test(arguments: [
        "", " ", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,}", "{a:1}", "{1:2}",
        "[1}",
        "tru", "nul", "falsE", "'a'", "//", "[1]]", "\u{feff}1",
    ])
    func `invalid JSON is refused`(json: String) { #expect(throws: CodecError.self) { try codecValue(json: json) } }

    @Test func `duplicate keys are kept, and lookup finds the first`() throws {
        let value = try codecValue(json: #"{"a":1,"a":2}"#)
        #expect(value["a"] == 1)
        #expect(value.entries?.count == 2)
    }

    @Test func `a value without a JSON form gets the usual substitute`() throws {
        let value: Value = [
            "bytes": .bytes([0, 255, 7, 9]), "time": .timestamp(Timestamp(seconds: 0)), "tag": .tagged(7, 1), 5: .bytes([1]),
            -6: .bytes([1, 2]),
            "text": "\u{1}\"\\\n\r\t/é",
        ]
        let json = String(decoding: try value.json(), as: UTF8.self)
        #expect(
            json == #"{"bytes":"AP8HCQ==","time":"1970-01-01T00:00:00Z","tag":1,"5":"AQ==","-6":"AQI=","text":"\u0001\"\\\n\r\t/é"}"#)
    }

    @Test(arguments: [.float(.nan), .float(.infinity), .extension(type: 1, []), [[1]: 2]] as [Value])
    func `a value without any JSON form is refused`(value: Value) {
        #expect { try value.json() } throws: { ($0 as? CodecError)?.code == .unsupported }
    }
}
