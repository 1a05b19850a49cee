import CodecCore
import Testing

@Suite struct PayloadPeekTests {
    private func string(_ json: String, _ path: String...) -> String? {
        Array(json.utf8).withUnsafeBytes { PayloadPeek(.json, path: path).string(in: $0.bytes) }
    }
    private func integer(_ json: String, _ path: String...) -> Int64? {
        Array(json.utf8).withUnsafeBytes { PayloadPeek(.json, path: path).integer(in: $0.bytes) }
    }

    @Test func `a JSON text is found after values of every kind`() {
        let json = #" { "a" : {"symbol":"no","b":["}",{"x":"\"]"}]}, "c":[1,-2.5e3,true,null], "symbol" : "SAIL" , "rest": oops"#
        #expect(string(json, "symbol") == "SAIL")
        #expect(string(json, "a", "symbol") == "no")
        #expect(string(json, "missing") == nil)
        #expect(string(json, "a") == nil)
        #expect(string(json, "symbol", "deeper") == nil)
        #expect(string(#"{"a":},"symbol":"SAIL"}"#, "symbol") == nil)
    }

    @Test func `the escapes of a key and of a text are resolved`() {
        #expect(string(#"{"s\u0079m":"\u20AC \ud83d\ude00\n"}"#, "sym") == "€ 😀\n")
        #expect(string(#"{"s":"\ud83d"}"#, "s") == nil)
        #expect(string(#"{"s":"\x"}"#, "s") == nil)
    }

    @Test func `the first of two equal keys is found`() { #expect(string(#"{"s":"a","s":"b"}"#, "s") == "a") }

    @Test func `integers are decoded exactly, and other values are not found`() {
        #expect(integer(#"{"id":9223372036854775807}"#, "id") == .max)
        #expect(integer(#"{"id":-9223372036854775808}"#, "id") == .min)
        #expect(integer(#"{"id":-1}"#, "id") == -1)
        #expect(integer(#"{"id":-0}"#, "id") == 0)
        #expect(integer(#"{"id":9223372036854775808}"#, "id") == nil)
        #expect(integer(#"{"id":1.5}"#, "id") == nil)
        #expect(integer(#"{"id":"1"}"#, "id") == nil)
        #expect(integer(#"{"id":01}"#, "id") == nil)
        #expect(integer("7") == 7)
        let payload = Array(#"{"id":18446744073709551615,"x":2.5}"#.utf8)
        #expect(payload.withUnsafeBytes { PayloadPeek(.json, "id").unsigned(in: $0.bytes) } == .max)
        #expect(payload.withUnsafeBytes { PayloadPeek(.json, "x").double(in: $0.bytes) } == 2.5)
    }

    @Test(arguments: [BinaryFormat.messagePack, .cbor])
    func `scalars are found in binary payloads`(format: BinaryFormat) throws {
        let value: Value = [
            "other": ["symbol": "no", "list": [1, "x", nil]], 7: "seven", "symbol": "SAIL", "bid": -3, "ask": 2.5, "€": ["in": 9],
        ]
        let bytes = try value.encoded(as: format)
        let kind: PayloadPeek.Format = format == .cbor ? .cbor : .messagePack
        func text(_ path: String...) -> String? { bytes.withUnsafeBytes { PayloadPeek(kind, path: path).string(in: $0.bytes) } }
        func integer(_ path: String...) -> Int64? { bytes.withUnsafeBytes { PayloadPeek(kind, path: path).integer(in: $0.bytes) } }
        func double(_ path: String...) -> Double? { bytes.withUnsafeBytes { PayloadPeek(kind, path: path).double(in: $0.bytes) } }
        func says(_ text: String, _ path: String...) -> Bool {
            bytes.withUnsafeBytes { PayloadPeek(kind, path: path).contains(text, in: $0.bytes) }
        }
        #expect(text("symbol") == "SAIL")
        #expect(text("other", "symbol") == "no")
        #expect(text("bid") == nil)
        #expect(says("SAIL", "symbol"))
        #expect(!says("SAI", "symbol"))
        #expect(!says("SAIL", "missing"))
        #expect(integer("bid") == -3)
        #expect(integer("€", "in") == 9)
        #expect(integer("ask") == nil)
        for key in ["symbol", "bid", "ask"] {
            #expect(bytes.withUnsafeBytes { PayloadPeek(kind, key).value(in: $0.bytes) } == value[key])
        }
        #expect(bytes.withUnsafeBytes { PayloadPeek(kind, "other").value(in: $0.bytes) } == Value?.none)
        #expect(double("bid") == -3)
        #expect(double("ask") == 2.5)
        #expect(bytes.withUnsafeBytes { PayloadPeek(kind, "bid").unsigned(in: $0.bytes) } == nil)
        #expect(bytes.withUnsafeBytes { PayloadPeek(kind, "symbol").withText(in: $0.bytes) { Array($0) } } == Array("SAIL".utf8))
    }

    @Test func `an integer below the range of 64 bits is not found`() {
        let bytes = [0x3B] + [UInt8](repeating: 255, count: 8)
        let peek = PayloadPeek(.cbor)
        bytes.withUnsafeBytes { bytes in
            #expect(peek.integer(in: bytes.bytes) == nil && peek.double(in: bytes.bytes) == nil)
            #expect(peek.value(in: bytes.bytes) == Value?.none)
        }
    }

    @Test func `a key is found in an indefinite-length CBOR map after indefinite-length values`() {
        // {_ (_ "a"): 1, "b": [_ 1, 2], "c": (_ h'01'), "d": "x"}
        let bytes: [UInt8] = [
            0xBF, 0x7F, 0x61, 0x61, 0xFF, 0x01, 0x61, 0x62, 0x9F, 0x01, 0x02, 0xFF, 0x61, 0x63, 0x5F, 0x41, 0x01, 0xFF, 0x61, 0x64, 0x61,
            0x78, 0xFF,
        ]
        #expect(bytes.withUnsafeBytes { PayloadPeek(.cbor, "d").string(in: $0.bytes) } == "x")
        #expect(bytes.withUnsafeBytes { PayloadPeek(.cbor, "e").string(in: $0.bytes) } == nil)
    }

    @Test func `truncated and changed payloads cause no trap`() throws {
        let value: Value = ["list": [1, "x", nil, ["a": 2.5]], "symbol": "SAIL"]
        for format in [PayloadPeek.Format.json, .messagePack, .cbor] {
            let whole = try format == .json ? value.json() : value.encoded(as: format == .cbor ? .cbor : .messagePack)
            let peek = PayloadPeek(format, "symbol")
            for end in 0..<(whole.count - 2) {
                #expect(whole[..<end].withUnsafeBytes { peek.string(in: $0.bytes) } == nil)
            }
            for index in whole.indices {
                for byte in UInt8.min...UInt8.max {
                    var changed = whole
                    changed[index] = byte
                    let found = changed.withUnsafeBytes { peek.string(in: $0.bytes) }
                    #expect((found?.utf8.count ?? 0) < whole.count)
                }
            }
        }
    }
}
