import RoomCore
import Testing

@Suite struct NameTests {
    @Test func `two ways to write an accent are two names, in memory as on disk`() throws {
        let (one, other) = ("caf\u{E9}", "cafe\u{301}")
        #expect(one == other)
        #expect(Set([try #require(RoomName(one)), try #require(RoomName(other))]).count == 2)
        #expect(Set([try #require(UserName(one)), try #require(UserName(other))]).count == 2)
        #expect(!Grant(one, .member).covers(try #require(RoomName(other))))
    }
}
