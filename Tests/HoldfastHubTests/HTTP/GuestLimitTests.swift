import Testing

@testable import HoldfastHub

/// The limits of connections for plain HTTP.
@Suite struct GuestLimitTests {
    @Test func `all connections have a limit, and those of one address have a lower one`() {
        let limit = GuestLimit(most: 3, perAddress: 2)
        var permits = ["a", "a", "a", "b", "c"].map { limit.permit($0) }
        #expect(permits.map { $0 != nil } == [true, true, false, true, false])
        permits[0] = nil
        let other = limit.permit("c")
        #expect(other != nil && limit.permit("a") == nil)
        permits[3] = nil
        #expect(limit.permit("a") != nil)
    }

    @Test func `clients without an address do not share one address's limit`() {
        let limit = GuestLimit(most: 3, perAddress: 1)
        let permits = (0..<4).map { _ in limit.permit(nil) }
        #expect(permits.map { $0 != nil } == [true, true, true, false])
    }

    @Test func `at least one connection is always permitted`() { #expect(GuestLimit(most: 0, perAddress: .max).permit("a") != nil) }
}
