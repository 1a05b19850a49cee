import Testing

@testable import WAMPCore

/// How many connections an address may have at a router that counts them itself, and how many bytes.
@Suite struct AddressQuotaTests {
    @Test func `an address has so many, others have theirs, and there is room again when one has gone`() {
        var seats = AddressQuota(most: 2)
        #expect(seats.take("a") && seats.take("a") && !seats.take("a") && !seats.hasRoom(for: "a"))
        #expect(seats.hasRoom(for: "b") && seats.take("b"))
        seats.leave("a")
        #expect(seats.hasRoom(for: "a") && seats.take("a") && !seats.take("a"))
    }

    @Test func `bytes are taken whole or not at all`() {
        var bytes = AddressQuota(most: 100)
        #expect(bytes.take("a", 60) && !bytes.take("a", 41) && bytes.left(for: "a") == 40 && bytes.take("b", 100))
        bytes.leave("a", 10)
        #expect(bytes.take("a", 50) && bytes.left(for: "a") == 0)
        bytes.leave("a", 100)
        #expect(bytes.count == 1 && bytes.left(for: "a") == 100)
    }

    @Test func `nothing is remembered of an address that has no connections`() {
        var seats = AddressQuota(most: 2)
        for _ in 0..<2 { #expect(seats.take("a") == true) }
        for _ in 0..<2 { seats.leave("a") }
        #expect(seats.count == 0)
        seats.leave("a")
        #expect(seats.count == 0)
    }

    @Test func `who has no address is not counted, and without a limit nobody is`() {
        var (seats, open) = (AddressQuota(most: 1), AddressQuota(most: nil))
        for _ in 0..<3 { #expect(seats.take(nil) && open.take("a")) }
        #expect(seats.count == 0 && open.count == 0)
        #expect(seats.left(for: nil) == .max && open.left(for: "a") == .max)
        // A limit of none would let nobody in.
        var least = AddressQuota(most: 0)
        #expect(least.take("a") == true)
    }
}
