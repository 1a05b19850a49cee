import CodecCore
import Testing

/// The formats of the MessagePack specification at their boundaries.
@Suite struct MessagePackVectorTests {
    private static func text(_ count: Int) -> Value { .text(String(repeating: "a", count: count)) }
    private static func bytes(_ count: Int) -> Value { .bytes(Array(repeating: 7, count: count)) }
    private static func array(_ count: Int) -> Value { .array(Array(repeating: nil, count: count)) }
    private static func map(_ count: Int) -> Value {
        .map(ValueMap((0..<count).map { ValueMap.Entry(key: .integer(Int64($0)), value: nil) }))
    }
    private static func ext(_ count: Int) -> Value { .extension(type: 5, Array(repeating: 7, count: count)) }

    /// A value, its first bytes, and its length.
    static let forms: [(Value, String, Int)] = [
        (nil, "c0", 1), (false, "c2", 1), (true, "c3", 1), (0, "00", 1), (127, "7f", 1), (128, "cc80", 2), (255, "ccff", 2),
        (256, "cd0100", 3), (65535, "cdffff", 3), (65536, "ce00010000", 5), (4_294_967_295, "ceffffffff", 5),
        (4_294_967_296, "cf0000000100000000", 9), (.integer(.max), "cf7fffffffffffffff", 9), (.unsigned(.max), "cfffffffffffffffff", 9),
        (-1, "ff", 1), (-32, "e0", 1), (-33, "d0df", 2), (-128, "d080", 2), (-129, "d1ff7f", 3), (-32768, "d18000", 3),
        (-32769, "d2ffff7fff", 5), (-2_147_483_648, "d280000000", 5), (-2_147_483_649, "d3ffffffff7fffffff", 9),
        (.integer(.min), "d38000000000000000", 9), (1.5, "ca3fc00000", 5), (0.1, "cb3fb999999999999a", 9), (-0.0, "ca80000000", 5),
        (text(0), "a0", 1), (text(31), "bf", 32), (text(32), "d920", 34), (text(255), "d9ff", 257), (text(256), "da0100", 259),
        (text(65535), "daffff", 65538), (text(65536), "db00010000", 65541), (bytes(0), "c400", 2), (bytes(255), "c4ff", 257),
        (bytes(256), "c50100", 259), (bytes(65535), "c5ffff", 65538), (bytes(65536), "c600010000", 65541), (array(0), "90", 1),
        (array(15), "9f", 16), (array(16), "dc0010", 19), (array(65535), "dcffff", 65538), (array(65536), "dd00010000", 65541),
        (map(0), "80", 1), (map(15), "8f", 31), (map(16), "de0010", 35), (map(65535), "deffff", 3 + 65535 + 65535 + 65407 + 65279),
        (map(65536), "df00010000", 5 + 65536 + 65536 + 65408 + 65280), (ext(1), "d405", 3), (ext(2), "d505", 4), (ext(4), "d605", 6),
        (ext(8), "d705", 10), (ext(16), "d805", 18), (ext(0), "c70005", 3), (ext(3), "c70305", 6), (ext(255), "c7ff05", 258),
        (ext(256), "c8010005", 260), (ext(65535), "c8ffff05", 65539), (ext(65536), "c90001000005", 65542),
        (.timestamp(Timestamp(seconds: 1)), "d6ff00000001", 6), (.timestamp(Timestamp(seconds: 1 << 32)), "d7ff0000000100000000", 10),
        (.timestamp(Timestamp(seconds: 1, nanoseconds: 1)!), "d7ff0000000400000001", 10),
        (.timestamp(Timestamp(seconds: 1 << 34 - 1)), "d7ff00000003ffffffff", 10),
        (.timestamp(Timestamp(seconds: 1 << 34)), "c70cff000000000000000400000000", 15),
        (.timestamp(Timestamp(seconds: -1, nanoseconds: 999_999_999)!), "c70cff3b9ac9ffffffffffffffffff", 15),
    ]

    @Test func `every value is encoded in its shortest format and decoded`() throws {
        for (value, start, count) in Self.forms {
            let bytes = try value.encoded(as: .messagePack)
            #expect(bytes.starts(with: codecBytes(start)), "\(start)")
            #expect(bytes.count == count, "\(start)")
            #expect(try codecValue(bytes, .messagePack) == value, "\(start)")
        }
    }

    @Test(
        arguments: [
            ("cc01", 1), ("cd0001", 1), ("ce00000001", 1), ("cf0000000000000001", 1), ("d001", 1), ("d10001", 1), ("d200000001", 1),
            ("d30000000000000001", 1), ("d0ff", -1), ("cb3ff8000000000000", 1.5), ("d90161", "a"), ("da000161", "a"), ("db0000000161", "a"),
            ("c5000107", .bytes([7])), ("c60000000107", .bytes([7])), ("dc000101", [1]), ("dd0000000101", [1]), ("de00010102", [1: 2]),
            ("df000000010102", [1: 2]), ("c7010507", .extension(type: 5, [7])), ("c800010507", .extension(type: 5, [7])),
            ("c9000000010507", .extension(type: 5, [7])), ("c702ff0707", .extension(type: -1, [7, 7])),
            ("d7ffffffffff00000000", .extension(type: -1, [255, 255, 255, 255, 0, 0, 0, 0])),
        ] as [(String, Value)])
    func `longer forms are decoded, and an invalid timestamp stays an extension`(digits: String, value: Value) throws {
        #expect(try codecValue(codecBytes(digits), .messagePack) == value)
    }

    @Test func `the unused byte and tags are refused`() {
        #expect(throws: CodecError(.malformed, at: 1)) { try codecValue(codecBytes("91c1"), .messagePack) }
        #expect(throws: CodecError(.unsupported, at: 0)) { try Value.tagged(9, 1).encoded(as: .messagePack) }
    }

    @Test func `texts that are not UTF-8 are refused with their offset`() {
        #expect(throws: CodecError(.invalidText, at: 2)) { try codecValue(codecBytes("91a2c328"), .messagePack) }
    }
}
