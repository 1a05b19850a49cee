import CodecCore
import MachineCore
import ProtocolCore
import Testing

@testable import WAMPCore

@Suite struct ClientHistoryTests {
    private let withHistory = SubscribeOptions(historyAfterGap: 10)

    /// A client with two listeners, of which 1 wants history; it has seen the publications 100 and 101 and has joined again.
    private func returned(_ details: ValueMap = ClientBench.everything) -> ClientBench {
        var bench = ClientBench.joined(details)
        bench.handle(.listen(1, "com.chat", withHistory), .listen(2))
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

    @Test func `after a gap the client fetches the history for those that want it and delivers only missed events`() {
        var bench = returned()
        bench.receive(.subscribed(request: 1, subscription: 6))
        #expect(
            bench.look() == [.subscribed(1, 6), .subscribed(2, 6), .gap([2], .reconnected), question(["limit": 10, "reverse": true])])
        bench.receive(.anEvent(6, 104))
        #expect(bench.look() == [.event([2], 6, 104)], "a listener that waits for the history gets the event later, in order")
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

    @Test func `history entries may be bare arguments with details, oldest first`() {
        var bench = returned()
        bench.receive(.subscribed(request: 1, subscription: 6))
        _ = bench.look()
        let list = WAMPArguments([
            entry(101, at: 1, ("details", ["topic": "com.chat"])), entry(102, at: 2, ("details", ["topic": "com.chat"])),
        ])
        bench.receive(.aResult(2, list))
        #expect(bench.look() == [.gap([1], .filled(events: 1)), .event([1], 6, 102, ["topic": "com.chat"])])
    }

    @Test func `a request for history has only a limit if the router announces no history`() {
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
    func `a router without history leaves the gap, and live events are delivered`(answer: WAMPMessage) {
        var bench = returned()
        bench.receive(.subscribed(request: 1, subscription: 6), .anEvent(6, 104))
        _ = bench.look()
        bench.receive(answer)
        #expect(bench.look() == [.gap([1], .reconnected), .event([1], 6, 104)])
    }

    @Test func `a history that does not arrive in time leaves the gap and is ignored later`() {
        var bench = returned()
        bench.receive(.subscribed(request: 1, subscription: 6), .anEvent(6, 104))
        _ = bench.look()
        bench.pass(.seconds(10))
        #expect(bench.look() == [.gap([1], .reconnected), .event([1], 6, 104)])
        bench.receive(.aResult(2, WAMPArguments([[entry(102, at: 1)]])))
        #expect(bench.look() == [])
    }

    @Test func `the number of events that wait for the history is limited`() {
        var bench = returned()
        bench.receive(.subscribed(request: 1, subscription: 6))
        _ = bench.look()
        for publication in WAMPID(1000)..<1000 + WAMPID(HistoryFetch.capacity) { bench.receive(.anEvent(6, publication)) }
        #expect(bench.look().count == HistoryFetch.capacity, "the other listener gets its events")
        bench.receive(.anEvent(6, 9999))
        #expect(bench.look().count == HistoryFetch.capacity + 3, "the gap and all waiting events")
    }

    @Test func `live events survive a loss of the connection during a fetch`() {
        var bench = returned()
        bench.receive(.subscribed(request: 1, subscription: 6), .anEvent(6, 104))
        _ = bench.look()
        bench.handle(.lost)
        #expect(bench.look() == [.event(.parted), .gap([1], .reconnected), .event([1], 6, 104)])
    }

    @Test func `events that arrive during a fetch follow the history, even if it omits some of them`() {
        var bench = returned()
        bench.receive(.subscribed(request: 1, subscription: 6), .anEvent(6, 104), .anEvent(6, 105))
        _ = bench.look()
        bench.receive(.aResult(2, WAMPArguments([[entry(105, at: 3), entry(103, at: 2)]])))
        #expect(bench.look() == [.gap([1], .filled(events: 1)), .event([1], 6, 103), .event([1], 6, 104), .event([1], 6, 105)])
    }

    @Test func `a retained event that is also in the history keeps its place there`() {
        var bench = returned()
        bench.handle(.listen(3, "com.chat", SubscribeOptions(wantsRetained: true, historyAfterGap: 1)))
        bench.receive(.subscribed(request: 1, subscription: 6))
        bench.rejoin()
        bench.receive(.subscribed(request: 1, subscription: 7), .anEvent(7, 102, ["retained": true]))
        _ = bench.look()
        bench.receive(.aResult(2, WAMPArguments([[entry(103, at: 2), entry(102, at: 1)]])))
        #expect(bench.look() == [.gap([1, 3], .filled(events: 2)), .event([1, 3], 7, 102), .event([1, 3], 7, 103)])
    }

    @Test func `a listener that unsubscribes during a fetch gets no history`() {
        var bench = returned()
        bench.receive(.subscribed(request: 1, subscription: 6), .anEvent(6, 104))
        bench.handle(.unsubscribe(1))
        _ = bench.look()
        bench.receive(.aResult(2, WAMPArguments([[entry(102, at: 1)]])), .anEvent(6, 105))
        #expect(bench.look() == [.event([2], 6, 105)])
    }

    @Test func `a duplicate event is delivered once to a listener that wants history`() {
        var bench = ClientBench.joined()
        bench.handle(.listen(1, "com.chat", withHistory), .listen(2, "com.other"))
        bench.receive(.subscribed(request: 1, subscription: 5), .subscribed(request: 2, subscription: 6))
        _ = bench.look()
        bench.receive(.anEvent(5, 1), .anEvent(5, 1), .anEvent(6, 1), .anEvent(6, 1))
        #expect(bench.look() == [.event([1], 5, 1), .event([2], 6, 1), .event([2], 6, 1)])
    }

    @Test func `the number of remembered publications is limited`() {
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
