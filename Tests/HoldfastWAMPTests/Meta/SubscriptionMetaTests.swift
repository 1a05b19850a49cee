import CodecCore
import HoldfastWAMP
import Testing
import WAMPCore

@Suite("Subscriptions of a realm", .timeLimit(.minutes(1))) struct SubscriptionMetaTests {
    @Test("past events are requested by keywords and read from the arguments or from a list in the first one")
    func events() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let answers: [([Value], count: Int)] = [
            ([], 0), ([[]], 0), ([["publication": 1]], 1), ([[["publication": 1]]], 1), ([["publication": 1], ["publication": 2]], 2),
            ([[["publication": 1], ["publication": 2]]], 2),
        ]
        for (answer, count) in answers {
            async let events = stage.wamp.meta.subscriptions.events(7, limit: 5)
            let call = try await peer.call()
            #expect(call.procedure == "wamp.subscription.get_events")
            #expect(call.arguments == WAMPArguments([7], keywords: ["limit": 5]))
            try await peer.answer(call, answer)
            #expect(try await events.compactMap { $0["publication"]?.int } == Array([1, 2].prefix(count)))
        }
    }
}
