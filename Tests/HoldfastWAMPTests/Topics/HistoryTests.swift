import CodecCore
import HoldfastRouter
import HoldfastWAMP
import Testing
import WAMPCore

@Suite("History of a router", .timeLimit(.minutes(1))) struct HistoryTests {
    @Test("after a reconnect a client gets missed events of others, but not its own")
    func own() async throws {
        let world = RouterTests.World(WAMPRouterConfiguration(policy: RouterPolicy(historyLength: 10)))
        let (one, two) = (world.client(), world.client(.json))
        let numbers = Topic<Int>("com.app.numbers")
        let (all, mine) = (PublishOptions(isAcknowledged: true, excludesMe: false), PublishOptions(isAcknowledged: true))
        var items = try await two.subscribe(numbers, options: SubscribeOptions(historyAfterGap: 10)).withGaps.makeAsyncIterator()
        try await one.publish(numbers, 1, options: all)
        guard case .event(let event)? = try await items.next() else { throw WAMPPeer.Mismatch(message: nil) }
        #expect(event.content == 1)
        try await two.publish(numbers, 2)
        try await two.publish(numbers, 3, options: mine)
        let session = try await two.joined().id
        try await one.meta.sessions.kill(session, reason: WAMPURI.Close.systemShutdown)
        guard case .gap(let gap)? = try await items.next() else { throw WAMPPeer.Mismatch(message: nil) }
        #expect(gap == .filled(events: 0))
        try await one.publish(numbers, 4)
        guard case .event(let next)? = try await items.next() else { throw WAMPPeer.Mismatch(message: nil) }
        #expect(next.content == 4)
    }
}
