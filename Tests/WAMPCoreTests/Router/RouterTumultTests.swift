import Testing
import WAMPAudit

@testable import WAMPCore

/// Clients with random valid and invalid messages, and checks of all that the router sends.
@Suite struct RouterTumultTests {
    @Test("each request is answered once in any order of messages, and no state is left", arguments: [true, false])
    func promises(keeps: Bool) {
        var seen: Set<String> = []
        for seed in 1...50 as ClosedRange<UInt64> {
            var simulation = RouterTumult(Choices(seed: seed), keeps: keeps)
            for _ in 0..<600 { simulation.happen() }
            simulation.rest()
            #expect(simulation.complaints.isEmpty, "seed \(seed): \(simulation.complaints.prefix(3))")
            if keeps {
                let realm = simulation.router.realms[0]
                #expect(simulation.router.peers.isEmpty && simulation.router.sessions.isEmpty, "seed \(seed)")
                #expect(realm?.dealer.isEmpty != false && realm?.broker.held.isEmpty != false, "seed \(seed)")
                #expect((realm?.broker.subscriptions.count ?? 0) <= 2 && realm?.broker.subscriptions.count == realm?.broker.lingering.count)
            } else {
                #expect(simulation.router.isEmpty, "seed \(seed)")
            }
            seen.formUnion(simulation.seen)
        }
        let expected = [
            "WELCOME", "GOODBYE", "ABORT", "PUBLISHED", "SUBSCRIBED", "UNSUBSCRIBED", "EVENT", "REGISTERED", "UNREGISTERED", "INVOCATION",
            "RESULT", "INTERRUPT", "ERROR", "goodbye", "violation", "overrun",
        ]
        #expect(seen.isSuperset(of: expected), "\(Set(expected).subtracting(seen))")
    }
}
