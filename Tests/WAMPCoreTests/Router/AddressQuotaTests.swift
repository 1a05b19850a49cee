import Testing

@testable import WAMPCore

/// The number of connections, and of bytes, that the router allows one address.
@Suite struct AddressQuotaTests {
    @Test func `each address has its own quota, and a closed connection frees a place`() {
        var quota = AddressQuota(most: 2)
        #expect(quota.take("a") && quota.take("a") && !quota.take("a") && !quota.hasRoom(for: "a"))
        #expect(quota.hasRoom(for: "b") && quota.take("b"))
        quota.leave("a")
        #expect(quota.hasRoom(for: "a") && quota.take("a") && !quota.take("a"))
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
        var quota = AddressQuota(most: 2)
        for _ in 0..<2 { #expect(quota.take("a") == true) }
        for _ in 0..<2 { quota.leave("a") }
        #expect(quota.count == 0)
        quota.leave("a")
        #expect(quota.count == 0)
    }

    @Test func `clients without an address are not counted, and without a limit no client is`() {
        var (quota, open) = (AddressQuota(most: 1), AddressQuota(most: nil))
        for _ in 0..<3 { #expect(quota.take(nil) && open.take("a")) }
        #expect(quota.count == 0 && open.count == 0)
        #expect(quota.left(for: nil) == .max && open.left(for: "a") == .max)
        // A limit of 0 counts as 1, because a router with 0 would accept no client.
        var least = AddressQuota(most: 0)
        #expect(least.take("a") == true)
    }
}
