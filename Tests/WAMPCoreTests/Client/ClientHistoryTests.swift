import CodecCore
import MachineCore
import ProtocolCore
import Testing

@testable import WAMPCore

@Suite struct ClientHistoryTests {
    private let curious = SubscribeOptions(historyAfterGap: 10)

    /// A client whose listener 1 wants history, and 2 does not; it has seen the publications 100 and 101, and is joined again.
    private func returned(_ details: ValueMap = ClientBench.everything) -> ClientBench {
        var bench = ClientBench.joined(details)
        bench.handle(.listen(1, "com.chat", curious), .listen(2))
        bench.receive(.subscribed(request: 1, subscription: 5), .anEvent(5, 100), .anEvent(5, 101))
        bench.rejoin(details)
        _ = bench.look()
        return bench
    }
    private func entry(_ publication: Int64, at time: Value, _ details: (Value, Value)...) -> Value {
        .map(
            ValueMap(
                [
                    .init(key: "timestamp", value: time), .init(key: "subscription", value: 6),
                    .init(key: "publication", value: .integer(publication)), .init(key: "args", value: .null),
                ] + details.map { .init(key: $0.0, value: $0.1) }))
    }
    private func question(_ keywords: ValueMap) -> ClientEffect {
        .call(2, [:], "wamp.subscription.get_events", WAMPArguments([6], keywords: keywords))
    }

    @Test func `after a gap the router's history is asked for by who wants it, and only what was missed is told`() {
        var bench = returned()
        bench.receive(.subscribed(request: 1, subscription: 6))
        #expect(
            bench.look() == [.subscribed(1, 6), .subscribed(2, 6), .gap([2], .reconnected), question(["limit": 10, "reverse": true])])
        bench.receive(.anEvent(6, 104))
        #expect(bench.look() == [.event([2], 6, 104)], "who waits for the history is told later, in order")
        let list: Value = [
            entry(104, at: "2026-01-01T00:00:04Z"), entry(103, at: "2026-01-01T00:00:03Z"), entry(102, at: "2026-01-01T00:00:02Z"),
            entry(101, at: "2026-01-01T00:00:01Z"), entry(99, at: "2026-01-01T00:00:00Z"),
        ]
        bench.receive(.aResult(2, WAMPArguments([list])), .anEvent(6, 105))
        #expect(
            bench.look() == [
                .gap([1], .filled(events: 2)), .event([1], 6, 102), .event([1], 6, 103), .event([1], 6, 104), .event([1, 2], 6, 105),
            ])
    }

    @Test func `events of the history may be the arguments themselves, with their details, and the oldest first`() {
        var bench = returned()
        bench.receive(.subscribed(request: 1, subscription: 6))
        _ = bench.look()
        let list = WAMPArguments([
            entry(101, at: 1, ("details", ["topic": "com.chat"])), entry(102, at: 2, ("details", ["topic": "com.chat"])),
        ])
        bench.receive(.aResult(2, list))
        #expect(bench.look() == [.gap([1], .filled(events: 1)), .event([1], 6, 102, ["topic": "com.chat"])])
    }

    @Test func `a router that does not announce its history is asked without what it might refuse`() {
        var bench = returned(ClientBench.nothing)
        bench.receive(.subscribed(request: 1, subscription: 6))
        #expect(bench.look().last == question(["limit": 10]))
        let other = entry(102, at: .null, ("topic", "com.chat"), ("publisher", 7), ("kwargs", .null), ("publisher_authid", .null))
        bench.receive(.aResult(2, WAMPArguments([[other]])))
        #expect(bench.look() == [.gap([1], .filled(events: 1)), .event([1], 6, 102, ["topic": "com.chat", "publisher": 7])])
    }

    @Test(arguments: [
        WAMPMessage.aRefusal(.call, 2, "wamp.error.history_unavailable"), .aResult(2, WAMPArguments(["no list"])),
        .aResult(2, WAMPArguments([["no event"]])),
    ])
    func `a router without a history leaves the gap, and what came since is told`(answer: WAMPMessage) {
        var bench = returned()
        bench.receive(.subscribed(request: 1, subscription: 6), .anEvent(6, 104))
        _ = bench.look()
        bench.receive(answer)
        #expect(bench.look() == [.gap([1], .reconnected), .event([1], 6, 104)])
    }

    @Test func `a history that does not come in time leaves the gap, and comes too late`() {
        var bench = returned()
        bench.receive(.subscribed(request: 1, subscription: 6), .anEvent(6, 104))
        _ = bench.look()
        bench.pass(.seconds(10))
        #expect(bench.look() == [.gap([1], .reconnected), .event([1], 6, 104)])
        bench.receive(.aResult(2, WAMPArguments([[entry(102, at: 1)]])))
        #expect(bench.look() == [])
    }

    @Test func `no more events wait for the history than memory is given`() {
        var bench = returned()
        bench.receive(.subscribed(request: 1, subscription: 6))
        _ = bench.look()
        for publication in WAMPID(1000)..<1000 + WAMPID(HistoryFetch.capacity) { bench.receive(.anEvent(6, publication)) }
        #expect(bench.look().count == HistoryFetch.capacity, "those of the other listener")
        bench.receive(.anEvent(6, 9999))
        #expect(bench.look().count == HistoryFetch.capacity + 3, "the gap, and all that waited")
    }

    @Test func `a connection lost while the history is asked for loses nothing that came`() {
        var bench = returned()
        bench.receive(.subscribed(request: 1, subscription: 6), .anEvent(6, 104))
        _ = bench.look()
        bench.handle(.lost)
        #expect(bench.look() == [.event(.parted), .gap([1], .reconnected), .event([1], 6, 104)])
    }

    @Test func `what came live while the history was asked for keeps its place behind it, however short the history is`() {
        var bench = returned()
        bench.receive(.subscribed(request: 1, subscription: 6), .anEvent(6, 104), .anEvent(6, 105))
        _ = bench.look()
        bench.receive(.aResult(2, WAMPArguments([[entry(105, at: 3), entry(103, at: 2)]])))
        #expect(bench.look() == [.gap([1], .filled(events: 1)), .event([1], 6, 103), .event([1], 6, 104), .event([1], 6, 105)])
    }

    @Test func `a retained event that is in the history as well has its place there`() {
        var bench = returned()
        bench.handle(.listen(3, "com.chat", SubscribeOptions(wantsRetained: true, historyAfterGap: 1)))
        bench.receive(.subscribed(request: 1, subscription: 6))
        bench.rejoin()
        bench.receive(.subscribed(request: 1, subscription: 7), .anEvent(7, 102, ["retained": true]))
        _ = bench.look()
        bench.receive(.aResult(2, WAMPArguments([[entry(103, at: 2), entry(102, at: 1)]])))
        #expect(bench.look() == [.gap([1, 3], .filled(events: 2)), .event([1, 3], 7, 102), .event([1, 3], 7, 103)])
    }

    @Test func `who stops listening hears nothing of the history`() {
        var bench = returned()
        bench.receive(.subscribed(request: 1, subscription: 6), .anEvent(6, 104))
        bench.handle(.unsubscribe(1))
        _ = bench.look()
        bench.receive(.aResult(2, WAMPArguments([[entry(102, at: 1)]])), .anEvent(6, 105))
        #expect(bench.look() == [.event([2], 6, 105)])
    }

    @Test func `an event that comes twice is told once, where the history is wanted`() {
        var bench = ClientBench.joined()
        bench.handle(.listen(1, "com.chat", curious), .listen(2, "com.other"))
        bench.receive(.subscribed(request: 1, subscription: 5), .subscribed(request: 2, subscription: 6))
        _ = bench.look()
        bench.receive(.anEvent(5, 1), .anEvent(5, 1), .anEvent(6, 1), .anEvent(6, 1))
        #expect(bench.look() == [.event([1], 5, 1), .event([2], 6, 1), .event([2], 6, 1)])
    }

    @Test func `only so many publications are remembered`() {
        var seen = SeenPublications()
        let ids = WAMPID(1)...WAMPID(SeenPublications.capacity) + 1
        let news = ids.filter { seen.insert($0) }
        #expect(news == Array(ids))
        #expect(!seen.contains(1) && seen.contains(2))
        let again = [2, 1].map { seen.insert($0) }
        #expect(again == [false, true])
        #expect(!seen.contains(2))
    }
}
