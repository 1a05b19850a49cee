import WAMPAudit

// Ordinary tests send chance through the same drivers; here the bytes decide what happens.
extension FuzzTarget {
    /// What an app and a router do to a client.
    static func clientMachine(_ input: inout FuzzInput) throws {
        var storm = ClientStorm(Choices(script: input.rest))
        while !storm.choices.isOver, storm.client.fault == nil { _ = storm.step() }
        storm.rest()
        try expect(storm.client.fault == nil, "\(storm.client.fault ?? ""): \(storm.history.suffix(60))")
    }

    /// What clients do to a router, with retained events and histories or without.
    static func routerMachine(_ input: inout FuzzInput) throws {
        let keeps = input.choose([false, true])
        var tumult = RouterTumult(Choices(script: input.rest), keeps: keeps)
        while !tumult.choices.isOver, tumult.complaints.isEmpty { tumult.happen() }
        tumult.rest()
        try expect(tumult.complaints.isEmpty, "\(tumult.complaints.prefix(3))")
    }
}
