import Testing

@testable import WAMPCore

/// How many connections of an address a router takes that counts them itself.
@Suite struct AddressSeatsTests {
    @Test func `an address has so many, others have theirs, and there is room again when one has gone`() {
        var seats = AddressSeats(most: 2)
        #expect(seats.take("a") && seats.take("a") && !seats.take("a") && !seats.hasRoom(for: "a"))
        #expect(seats.hasRoom(for: "b") && seats.take("b"))
        seats.leave("a")
        #expect(seats.hasRoom(for: "a") && seats.take("a") && !seats.take("a"))
    }

    @Test func `nothing is remembered of an address that has no connections`() {
        var seats = AddressSeats(most: 2)
        for _ in 0..<2 { #expect(seats.take("a") == true) }
        for _ in 0..<2 { seats.leave("a") }
        #expect(seats.count == 0)
        seats.leave("a")
        #expect(seats.count == 0)
    }

    @Test func `who has no address is not counted, and without a limit nobody is`() {
        var (seats, open) = (AddressSeats(most: 1), AddressSeats(most: nil))
        for _ in 0..<3 { #expect(seats.take(nil) && open.take("a")) }
        #expect(seats.count == 0 && open.count == 0)
        // A limit of none would let nobody in.
        var least = AddressSeats(most: 0)
        #expect(least.take("a") == true)
    }
}
