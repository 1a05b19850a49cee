import WAMPAudit

// Ordinary tests drive the same machines at random. Here the input decides.
extension FuzzTarget {
    /// Events from an app and a router for a client.
    static func clientMachine(_ input: inout FuzzInput) throws {
        var storm = ClientStorm(Choices(script: input.rest))
        while !storm.choices.isOver, storm.client.fault == nil { _ = storm.step() }
        storm.rest()
        try expect(storm.client.fault == nil, "\(storm.client.fault ?? ""): \(storm.history.suffix(60))")
    }

    /// Events from clients for a router, with or without retained events and histories.
    static func routerMachine(_ input: inout FuzzInput) throws {
        let keeps = input.choose([false, true])
        var tumult = RouterTumult(Choices(script: input.rest), keeps: keeps)
        while !tumult.choices.isOver, tumult.complaints.isEmpty { tumult.happen() }
        tumult.rest()
        try expect(tumult.complaints.isEmpty, "\(tumult.complaints.prefix(3))")
    }
}
