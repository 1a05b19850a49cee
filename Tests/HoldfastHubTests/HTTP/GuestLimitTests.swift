import Testing

@testable import HoldfastHub

/// How many connections plain HTTP may have.
@Suite struct GuestLimitTests {
    @Test func `all together leave room, and those of an address for those of others`() {
        let limit = GuestLimit(most: 3, perAddress: 2)
        #expect(["a", "a", "a", "b", "c"].map { limit.admit($0) } == [true, true, false, true, false])
        limit.leave("a")
        #expect(["c", "a"].map { limit.admit($0) } == [true, false])
        limit.leave("b")
        #expect(limit.admit("a"))
    }

    @Test func `one is always let in`() { #expect(GuestLimit(most: 0, perAddress: .max).admit("a")) }
}
