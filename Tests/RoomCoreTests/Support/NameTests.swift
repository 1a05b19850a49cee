import RoomCore
import Testing

@Suite struct NameTests {
    @Test func `two ways to write an accent are two names, in memory and on disk`() throws {
        let (one, other) = ("caf\u{E9}", "cafe\u{301}")
        #expect(one == other)
        #expect(Set([try #require(RoomName(one)), try #require(RoomName(other))]).count == 2)
        #expect(Set([try #require(UserName(one)), try #require(UserName(other))]).count == 2)
        #expect(!Grant(one, .member).covers(try #require(RoomName(other))))
    }

    @Test(arguments: [
        0x202A, 0x202E, 0x2066, 0x2069, 0x200E, 0x200F, 0x061C, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0xE0000, 0xE0001, 0xE0041, 0xE007F,
        0xAD, 0x180E, 0x3164, 0xFE0F, 0x2028, 0x2029, 0xA0, 0x1680, 0x2000, 0x2003, 0x200A, 0x202F, 0x205F, 0x3000, 0x2800,
    ])
    func `a name reports which of its characters are invisible`(value: UInt32) throws {
        let scalar = try #require(Unicode.Scalar(value))
        let name = try #require(UserName("an" + String(scalar) + "n"))
        let digits = String(value, radix: 16, uppercase: true)
        #expect(name.hidden == "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits)
    }

    @Test(arguments: ["ann", "Ann Müller", "王小明", "علي", "Łukasz", "e\u{301}", "👩🏽", "a@b.example", "שרה", "Ngọc"])
    func `names of people have no invisible characters`(text: String) { #expect(UserName(text)?.hidden == nil && UserName(text) != nil) }

    @Test(arguments: [
        ("ann", "ann"), ("علي", "علي"), ("a\u{200B}nn", #"a\u{200B}nn"#), ("\u{202E}nna", #"\u{202E}nna"#),
        ("a\nb\u{1B}", #"a\u{0A}b\u{1B}"#), ("\u{FFF9}a\u{2066}", #"\u{FFF9}a\u{2066}"#),
        ("ann a\u{A0}\u{2800}", #"ann a\u{A0}\u{2800}"#),
    ])
    func `a shown name has its invisible characters written out`(name: String, shown: String) { #expect(name.escapedAsName == shown) }
}
