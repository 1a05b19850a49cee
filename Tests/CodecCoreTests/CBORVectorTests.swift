import CodecCore
import Testing

/// RFC 8949: all examples of Appendix A, and the invalid forms of §3.
@Suite struct CBORVectorTests {
    /// Examples in their shortest form, which are decoded and encoded.
    static let shortest: [(String, Value)] = [
        ("00", 0), ("01", 1), ("0a", 10), ("17", 23), ("1818", 24), ("1819", 25), ("1864", 100), ("1903e8", 1000),
        ("1a000f4240", 1_000_000), ("1b000000e8d4a51000", 1_000_000_000_000), ("1bffffffffffffffff", .unsigned(.max)),
        ("c249010000000000000000", .tagged(2, .bytes([1, 0, 0, 0, 0, 0, 0, 0, 0]))),
        ("c349010000000000000000", .tagged(3, .bytes([1, 0, 0, 0, 0, 0, 0, 0, 0]))),
        ("20", -1), ("29", -10), ("3863", -100), ("3903e7", -1000), ("f90000", 0.0), ("f98000", -0.0), ("f93c00", 1.0),
        ("fb3ff199999999999a", 1.1), ("f93e00", 1.5), ("f97bff", 65504.0), ("fa47c35000", 100000.0),
        ("fa7f7fffff", 3.4028234663852886e+38), ("fb7e37e43c8800759c", 1.0e+300), ("f90001", 5.960464477539063e-8),
        ("f90400", 0.00006103515625), ("f9c400", -4.0), ("fbc010666666666666", -4.1), ("f97c00", .float(.infinity)),
        ("f97e00", .float(.nan)), ("f9fc00", .float(-.infinity)), ("f4", false), ("f5", true), ("f6", nil),
        ("c074323031332d30332d32315432303a30343a30305a", .tagged(0, "2013-03-21T20:04:00Z")),
        ("c11a514b67b0", .timestamp(Timestamp(seconds: 1_363_896_240))),
        ("c1fb41d452d9ec200000", .timestamp(Timestamp(secondsSince1970: 1_363_896_240.5)!)),
        ("d74401020304", .tagged(23, .bytes([1, 2, 3, 4]))), ("d818456449455446", .tagged(24, .bytes([0x64, 0x49, 0x45, 0x54, 0x46]))),
        ("d82076687474703a2f2f7777772e6578616d706c652e636f6d", .tagged(32, "http://www.example.com")),
        ("40", .bytes([])), ("4401020304", .bytes([1, 2, 3, 4])), ("60", ""), ("6161", "a"), ("6449455446", "IETF"),
        ("62225c", "\"\\"), ("62c3bc", "\u{00fc}"), ("63e6b0b4", "\u{6c34}"), ("64f0908591", "\u{10151}"), ("80", []),
        ("83010203", [1, 2, 3]), ("8301820203820405", [1, [2, 3], [4, 5]]),
        (
            "98190102030405060708090a0b0c0d0e0f101112131415161718181819",
            [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25]
        ),
        ("a0", [:]), ("a201020304", [1: 2, 3: 4]), ("a26161016162820203", ["a": 1, "b": [2, 3]]),
        ("826161a161626163", ["a", ["b": "c"]]),
        ("a56161614161626142616361436164614461656145", ["a": "A", "b": "B", "c": "C", "d": "D", "e": "E"]),
    ]
    /// Examples with a shorter form, which are only decoded.
    static let longer: [(String, Value)] = [
        ("fa7f800000", .float(.infinity)), ("faff800000", .float(-.infinity)), ("fb7ff0000000000000", .float(.infinity)),
        ("fbfff0000000000000", .float(-.infinity)), ("f7", nil),
        ("3bffffffffffffffff", .tagged(3, .bytes(Array(repeating: 255, count: 8)))),
        ("5f42010243030405ff", .bytes([1, 2, 3, 4, 5])), ("7f657374726561646d696e67ff", "streaming"), ("9fff", []),
        ("9f018202039f0405ffff", [1, [2, 3], [4, 5]]), ("9f01820203820405ff", [1, [2, 3], [4, 5]]),
        ("83018202039f0405ff", [1, [2, 3], [4, 5]]), ("83019f0203ff820405", [1, [2, 3], [4, 5]]),
        (
            "9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff",
            [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25]
        ),
        ("bf61610161629f0203ffff", ["a": 1, "b": [2, 3]]), ("826161bf61626163ff", ["a", ["b": "c"]]),
        ("bf6346756ef563416d7421ff", ["Fun": true, "Amt": -2]), ("fa7fc00000", .float(.nan)), ("fb7ff8000000000000", .float(.nan)),
        ("1800", 0), ("1900ff", 255), ("fb3ff8000000000000", 1.5), ("3b7fffffffffffffff", .integer(.min)),
    ]

    @Test(arguments: shortest) func `the shortest form is decoded and encoded`(digits: String, value: Value) throws {
        let read = try codecValue(codecBytes(digits), .cbor)
        #expect(read.description == value.description)
        #expect(try read.encoded(as: .cbor) == codecBytes(digits))
    }

    @Test(arguments: longer) func `longer forms are decoded`(digits: String, value: Value) throws {
        #expect(try codecValue(codecBytes(digits), .cbor).description == value.description)
    }

    @Test(arguments: ["f0", "f8ff", "f820", "e0"]) func `simple values without a meaning are refused`(digits: String) {
        #expect(throws: CodecError(.unsupported, at: 0)) { try codecValue(codecBytes(digits), .cbor) }
    }

    @Test(arguments: [
        ("1c", 0), ("3f", 0), ("5c", 0), ("df", 0), ("f818", 0), ("fc", 0), ("ff", 0), ("5f6161ff", 1), ("5f5f4101ffff", 1), ("81ff", 1),
        ("bf01ff", 2), ("a1ff00", 1), ("c1ff", 1),
    ])
    func `malformed input is refused with its offset`(digits: String, place: Int) {
        #expect(throws: CodecError(.malformed, at: place)) { try codecValue(codecBytes(digits), .cbor) }
    }

    @Test(arguments: ["61c3", "7f61c361bcff", "62fffe"]) func `texts and text chunks that are not UTF-8 are refused`(digits: String) {
        #expect { try codecValue(codecBytes(digits), .cbor) } throws: { ($0 as? CodecError)?.code == .invalidText }
    }

    @Test func `extensions cannot be encoded`() {
        #expect(throws: CodecError(.unsupported, at: 1)) { try Value.array([.extension(type: 1, [2])]).encoded(as: .cbor) }
    }
}
