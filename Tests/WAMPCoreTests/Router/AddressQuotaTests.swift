import Testing

@testable import WAMPCore

/// The number of connections, and of bytes, that the router allows one address.
@Suite struct AddressQuotaTests {
    @Test func `each address has its own quota, and a closed connection frees a place`() {
        var seats = AddressQuota(most: 2)
        #expect(seats.take("a") && seats.take("a") && !seats.take("a") && !seats.hasRoom(for: "a"))
        #expect(seats.hasRoom(for: "b") && seats.take("b"))
        seats.leave("a")
        #expect(seats.hasRoom(for: "a") && seats.take("a") && !seats.take("a"))
    }

    @Test func `a request for bytes gets all of them or none`() {
        var bytes = AddressQuota(most: 100)
        #expect(bytes.take("a", 60) && !bytes.take("a", 41) && bytes.left(for: "a") == 40 && bytes.take("b", 100))
        bytes.leave("a", 10)
        #expect(bytes.take("a", 50) && bytes.left(for: "a") == 0)
        bytes.leave("a", 100)
        #expect(bytes.count == 1 && bytes.left(for: "a") == 100)
    }

    @Test func `an address without connections is forgotten`() {
        var seats = AddressQuota(most: 2)
        for _ in 0..<2 { #expect(seats.take("a") == true) }
        for _ in 0..<2 { seats.leave("a") }
        #expect(seats.count == 0)
        seats.leave("a")
        #expect(seats.count == 0)
    }

    @Test func `clients without an address are not counted, and without a limit no client is`() {
        var (seats, open) = (AddressQuota(most: 1), AddressQuota(most: nil))
        for _ in 0..<3 { #expect(seats.take(nil) && open.take("a")) }
        #expect(seats.count == 0 && open.count == 0)
        #expect(seats.left(for: nil) == .max && open.left(for: "a") == .max)
        // A limit of 0 counts as 1, because a router with 0 would accept no client.
        var least = AddressQuota(most: 0)
        #expect(least.take("a") == true)
    }
}
