import CodecCore
import Testing

@Suite struct ValueTests {
    let tick: Value = ["symbol": "SAIL", 2: "two", "bid": 189.5, "volume": 1200, "list": [1, -2], "none": nil]

    @Test func `parts are found by key and index`() {
        #expect(tick["symbol"]?.string == "SAIL")
        #expect(tick["volume"]?.int == 1200)
        #expect(tick["bid"]?.double == 189.5)
        #expect(tick["volume"]?.double == 1200)
        #expect(tick[2]?.string == "two")
        #expect(tick["list"]?[1] == -2)
        #expect(tick["list"]?[2]?.isNull == nil)
        #expect(tick["list"]?[-1]?.isNull == nil)
        #expect(tick["missing"]?.isNull == nil)
        #expect(tick["none"]?.isNull == true)
        #expect(tick["bid"]?.int == nil)
        #expect(Value.unsigned(.max).int == nil)
        #expect(Value.bytes([1]).byteArray == [1])
        #expect(Value.bool(true).bool == true)
        #expect(tick.entries?.count == 6)
        #expect(tick["symbol"]?["x"]?.isNull == nil)
    }

    @Test func `a map is changed by key`() {
        var map: ValueMap = ["a": 1, "b": 2, "a": 3]
        map["a"] = 9
        map["c"] = 4
        map["b"] = nil
        #expect(map == ["a": 9, "a": 3, "c": 4])
        map["a"] = nil
        #expect(map == ["c": 4])
    }

    @Test func `the description is in diagnostic notation`() {
        let value: Value = [
            "a": [1, -2.5, true, nil], 2: .bytes([0, 255]), "t": .timestamp(Timestamp(seconds: 0)), "x": .extension(type: -5, [1]),
            "g": .tagged(9, "q\""), "f": .float(.nan), "i": .float(-.infinity), "u": .unsigned(.max),
        ]
        #expect(
            value.description == """
                {"a": [1, -2.5, true, null], 2: h'00ff', "t": 0("1970-01-01T00:00:00Z"), "x": ext(-5, h'01'), "g": 9("q\\""), "f": NaN, \
                "i": -Infinity, "u": 18446744073709551615}
                """)
    }

    @Test(
        arguments: [
            (0, 0, "1970-01-01T00:00:00Z"), (1_363_896_240, 500_000_000, "2013-03-21T20:04:00.5Z"),
            (951_782_400, 0, "2000-02-29T00:00:00Z"),
            (-1, 999_999_999, "1969-12-31T23:59:59.999999999Z"), (-62_167_219_200, 0, "0000-01-01T00:00:00Z"),
            (253_402_300_800, 0, "+10000-01-01T00:00:00Z"), (-62_135_596_800, 0, "0001-01-01T00:00:00Z"),
            (4_107_542_400, 0, "2100-03-01T00:00:00Z"),
        ] as [(Int64, UInt32, String)])
    func `times are written in the form of RFC 3339`(seconds: Int64, nanoseconds: UInt32, text: String) throws {
        let time = try #require(Timestamp(seconds: seconds, nanoseconds: nanoseconds))
        #expect(time.description == text)
        #expect(Timestamp(text) == time)
    }

    @Test func `times with an offset are decoded`() {
        #expect(Timestamp("1985-04-12T23:20:50.52Z")?.nanoseconds == 520_000_000)
        #expect(Timestamp("1996-12-19T16:39:57-08:00") == Timestamp("1996-12-20T00:39:57Z"))
        #expect(Timestamp("1937-01-01T12:00:27.87+00:20") == Timestamp("1937-01-01t11:40:27.87z"))
        #expect(Timestamp("2013-03-21T20:04:00.1234567899Z")?.nanoseconds == 123_456_789)
        #expect(Value.tagged(0, "1970-01-01T00:00:01Z").time == Timestamp(seconds: 1))
    }

    @Test(arguments: [.min, .min + 1, .min + 86400, -86401, 0, .max - 86400, .max] as [Int64])
    func `a time of any year is decoded as it was written`(seconds: Int64) {
        #expect(Timestamp(Timestamp(seconds: seconds).description) == Timestamp(seconds: seconds))
    }

    @Test(arguments: [
        "", "10000-01-01T00:00:00Z", "+292277026596-12-04T15:30:08Z", "-292277022657-01-27T08:29:51Z", "+999999999999-12-31T23:59:59Z",
        "+1234567890123-01-01T00:00:00Z", "1970-01-01", "1970-01-01T00:00:00", "1970-13-01T00:00:00Z", "1970-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:60:00Z", "1970-01-01T00:00:00.Z", "1970-01-01T00:00:00Zx", "1970-01-01T00:00:00+1", "70-01-01T00:00:00Z",
        "1970-04-31T00:00:00Z",
    ])
    func `an invalid time is refused`(text: String) { #expect(Timestamp(text) == nil) }

    @Test func `times have bounds and are ordered`() throws {
        #expect(Timestamp(seconds: 0, nanoseconds: 1_000_000_000) == nil)
        #expect(Timestamp(secondsSince1970: .nan) == nil)
        #expect(Timestamp(secondsSince1970: 1e300) == nil)
        #expect(Timestamp(.max, fraction: 0.9999999999) == nil)
        #expect(Timestamp(5, fraction: 0.9999999999) == Timestamp(seconds: 6))
        #expect(Timestamp(secondsSince1970: -0.25) == Timestamp(seconds: -1, nanoseconds: 750_000_000))
        let (early, late) = try (#require(Timestamp(seconds: 1, nanoseconds: 5)), #require(Timestamp(seconds: 1, nanoseconds: 6)))
        #expect(early < late && early < Timestamp(seconds: 2))
        #expect(Timestamp(seconds: .max).description.hasPrefix("+") && Timestamp(seconds: .min).description.hasPrefix("-"))
    }
}
