import ProtocolCore
import Testing
import WAMPAudit
import WAMPCore

/// An app and a router with random actions.
@Suite struct ClientStormTests {
    @Test(arguments: UInt64(1)...24)
    func `every request ends once, whatever the app and the router do`(seed: UInt64) throws {
        var storm = ClientStorm(Choices(seed: seed))
        for _ in 0..<1500 {
            let effects = storm.step()
            try #require(storm.client.fault == nil, "\(storm.client.fault ?? ""): \(storm.history.suffix(60))\n\(effects)")
        }
        storm.rest()
        #expect(storm.client.fault == nil)
    }

    @Test func `the storm joins sessions and reaches every kind of event`() {
        var counts: [String: Int] = [:]
        for seed in UInt64(1)...12 {
            var storm = ClientStorm(Choices(seed: seed))
            for _ in 0..<1000 {
                for effect in storm.step() {
                    guard case .event(let news) = effect else { continue }
                    counts[String("\(news)".prefix { $0 != "(" }), default: 0] += 1
                }
            }
        }
        let kinds = [
            "joined", "parted", "result", "published", "failed", "subscribed", "event", "gap", "registered", "suspended", "invoked",
            "interrupted",
        ]
        for kind in kinds { #expect(counts[kind, default: 0] > 50, "\(kind): \(counts)") }
    }
}
