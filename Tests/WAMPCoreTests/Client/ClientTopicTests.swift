import CodecCore
import MachineCore
import ProtocolCore
import Testing

@testable import WAMPCore

@Suite struct ClientTopicTests {
    /// A client with these listeners of `com.chat`, subscribed as 5.
    private func listening(_ listeners: ClientHandle..., options: SubscribeOptions = SubscribeOptions()) -> ClientBench {
        var bench = ClientBench.joined()
        for listener in listeners { bench.handle(.listen(listener, "com.chat", options)) }
        bench.receive(.subscribed(request: 1, subscription: 5))
        _ = bench.look()
        return bench
    }

    // MARK: Sharing

    @Test func `the listeners of a topic share one SUBSCRIBE and each gets the events`() {
        var bench = ClientBench.joined()
        bench.handle(.listen(1), .listen(2))
        #expect(bench.look() == [.subscribe(1)])
        bench.receive(.subscribed(request: 1, subscription: 5))
        #expect(bench.look() == [.subscribed(1, 5), .subscribed(2, 5)])
        bench.handle(.listen(3))
        #expect(bench.look() == [.subscribed(3, 5)])
        bench.receive(.anEvent(5, 100, ["publisher": 1]))
        #expect(bench.look() == [.event([1, 2, 3], 5, 100, ["publisher": 1])])
    }

    @Test func `only the last listener that leaves unsubscribes`() {
        var bench = listening(1, 2)
        bench.handle(.unsubscribe(1))
        bench.receive(.anEvent(5, 100))
        #expect(bench.look() == [.event([2], 5, 100)])
        bench.handle(.unsubscribe(2), .unsubscribe(2))
        #expect(bench.look() == [.unsubscribe(2, 5)])
        bench.receive(.anEvent(5, 101), .unsubscribed(request: 2, details: [:]), .anEvent(5, 102))
        #expect(bench.look() == [], "an event in flight is dropped")
        #expect(bench.machine.topics.isEmpty)
    }

    @Test func `a listener that ends its subscription hears when the router has answered`() {
        var bench = listening(1, 2)
        bench.handle(.endSubscription(1))
        #expect(bench.look() == [.event(.unsubscribed(1))], "another listener remains, so the router is not asked")
        bench.handle(.endSubscription(2), .endSubscription(2), .endSubscription(9))
        #expect(bench.look() == [.unsubscribe(2, 5)])
        bench.receive(.unsubscribed(request: 2, details: [:]))
        #expect(bench.look() == [.event(.unsubscribed(2))])
        #expect(bench.machine.topics.isEmpty && bench.machine.deadline == nil)
    }

    @Test func `a listener that ends before SUBSCRIBED hears of the end after both answers`() {
        var bench = ClientBench.joined()
        bench.handle(.listen(1), .endSubscription(1))
        #expect(bench.look() == [.subscribe(1)])
        bench.receive(.subscribed(request: 1, subscription: 5))
        #expect(bench.look() == [.unsubscribe(2, 5)])
        bench.receive(.aRefusal(.unsubscribe, 2, "wamp.error.no_such_subscription"))
        #expect(bench.look() == [.event(.unsubscribed(1))], "the subscription is gone, also after a refusal")
    }

    @Test func `a listener that waits for UNSUBSCRIBED ends with a loss, with the client, or with a timeout`() {
        var (lost, left, silent) = (listening(1), listening(1), listening(1))
        lost.handle(.endSubscription(1))
        lost.handle(.lost)
        #expect(lost.news().contains(.unsubscribed(1)))
        left.handle(.endSubscription(1), .leave(reason: "wamp.close.close_realm"))
        #expect(left.news().contains(.unsubscribed(1)))
        silent.handle(.endSubscription(1))
        silent.pass(.seconds(10))
        #expect(silent.news() == [.failed(1, .timedOut(wasSent: true))])
        silent.receive(.unsubscribed(request: 2, details: [:]))
        #expect(silent.news() == [], "the listener was told already")
    }

    @Test func `another match policy for the same URI is another subscription`() {
        var bench = ClientBench.joined()
        for match in WAMPMatch.allCases {
            bench.handle(
                .subscribe(
                    ClientHandle(UInt64(match.rawValue.count)), TopicKey("com.chat", match: match), SubscribeOptions(), patience: nil))
        }
        #expect(
            bench.look() == [
                .subscribe(1), .subscribe(2, "com.chat", ["match": "prefix"]), .subscribe(3, "com.chat", ["match": "wildcard"]),
            ])
    }

    @Test func `a topic has one SUBSCRIBE or UNSUBSCRIBE in flight at a time`() {
        var bench = ClientBench.joined()
        bench.handle(.listen(1), .unsubscribe(1), .listen(2), .unsubscribe(2))
        #expect(bench.look() == [.subscribe(1)])
        bench.receive(.subscribed(request: 1, subscription: 5))
        #expect(bench.look() == [.unsubscribe(2, 5)])
        bench.handle(.listen(3))
        #expect(bench.look() == [])
        bench.receive(.unsubscribed(request: 2, details: [:]))
        #expect(bench.look() == [.subscribe(3)])
        bench.receive(.subscribed(request: 3, subscription: 6))
        #expect(bench.look() == [.subscribed(3, 6)])
    }

    @Test func `a refused UNSUBSCRIBE counts as done`() {
        var bench = listening(1)
        bench.handle(.unsubscribe(1), .listen(2))
        bench.receive(.aRefusal(.unsubscribe, 2, "wamp.error.no_such_subscription"))
        #expect(bench.look() == [.unsubscribe(2, 5), .subscribe(3)])
    }

    @Test func `a refused SUBSCRIBE ends its listeners`() {
        var bench = ClientBench.joined()
        bench.handle(.listen(1), .listen(2))
        _ = bench.look()
        bench.receive(.aRefusal(.subscribe, 1, "wamp.error.not_authorized"))
        let failure = ClientFailure.refused(uri: "wamp.error.not_authorized", arguments: .none)
        #expect(bench.look() == [.failed(1, failure), .failed(2, failure)])
        #expect(bench.machine.topics.isEmpty)
    }

    @Test func `SUBSCRIBED with the id of another topic is a violation`() {
        var bench = listening(1)
        bench.handle(.listen(2, "com.other"))
        _ = bench.look()
        bench.receive(.subscribed(request: 2, subscription: 5))
        #expect(bench.look().contains(.drop(.violation("SUBSCRIBED gives one subscription to two topics"))))
    }

    @Test func `patterns fail at a router that announces features without them`() {
        var bench = ClientBench.joined(["roles": ["broker": ["features": ["event_history": true]]]])
        bench.handle(.subscribe(1, TopicKey("com.", match: .prefix), SubscribeOptions(), patience: nil), .listen(2))
        #expect(bench.look() == [.failed(1, .unsupported("pattern_based_subscription")), .subscribe(1)])
        var silent = ClientBench.joined(ClientBench.nothing)
        silent.handle(.subscribe(1, TopicKey("com..x", match: .wildcard), SubscribeOptions(), patience: nil))
        #expect(silent.look() == [.subscribe(1, "com..x", ["match": "wildcard"])])
    }

    // MARK: Time

    @Test func `a listener waits for the session and the answer no longer than its patience`() {
        var bench = ClientBench()
        bench.handle(.listen(1), .subscribe(2, TopicKey("a.b"), SubscribeOptions(), patience: nil))
        bench.pass(.seconds(10))
        #expect(bench.look() == [.failed(2, .notJoined), .failed(1, .timedOut(wasSent: false))])
        bench.handle(.listen(3))
        bench.join()
        _ = bench.look()
        bench.pass(.seconds(10))
        #expect(bench.look() == [.failed(3, .timedOut(wasSent: true))])
        bench.receive(.subscribed(request: 1, subscription: 5))
        #expect(bench.look() == [.unsubscribe(2, 5)], "a late subscription is released")
    }

    @Test func `the client leaves a router that does not renew a subscription in time`() {
        var bench = listening(1)
        bench.rejoin()
        bench.handle(.listen(2))
        _ = bench.look()
        bench.pass(.seconds(10))
        let effects = bench.look()
        #expect(effects.contains(.drop(.violation("SUBSCRIBE was not answered in time"))))
        #expect(!effects.contains(.failed(1, .connectionLost(wasSent: true))), "an earlier listener keeps waiting")
    }

    // MARK: Loss

    @Test func `after a reconnect all topics are subscribed again in order with their options, and listeners learn of the gap`() {
        var bench = ClientBench.joined()
        bench.handle(
            .subscribe(1, TopicKey("com.", match: .prefix), SubscribeOptions(wantsRetained: true, other: ["x": 1]), patience: nil),
            .listen(2, "com.b"), .listen(3, "com.a"))
        for request in 1...3 { bench.receive(.subscribed(request: WAMPID(request), subscription: WAMPID(request) + 10)) }
        _ = bench.look()
        bench.rejoin()
        #expect(
            bench.sent().suffix(3) == [
                .subscribe(request: 1, options: ["x": 1, "match": "prefix", "get_retained": true], topic: "com."),
                .subscribe(request: 2, options: [:], topic: "com.b"), .subscribe(request: 3, options: [:], topic: "com.a"),
            ])
        bench.handle(.listen(4, "com.b"))
        bench.receive(.subscribed(request: 2, subscription: 5))
        #expect(bench.look() == [.subscribed(2, 5), .subscribed(4, 5), .gap([2], .reconnected)], "a new listener has missed nothing")
        bench.receive(.anEvent(12, 1), .anEvent(5, 2))
        #expect(bench.look() == [.event([2, 4], 5, 2)], "ids of the old session are unknown")
    }

    @Test func `a listener with a lost SUBSCRIBE keeps waiting within its patience`() {
        var bench = ClientBench.joined()
        bench.handle(.listen(1), .subscribe(2, TopicKey("com.chat"), SubscribeOptions(), patience: nil))
        _ = bench.look()
        bench.pass(.seconds(9))
        bench.handle(.lost)
        #expect(bench.look() == [.event(.parted), .failed(2, .connectionLost(wasSent: true))])
        bench.pass(.seconds(1))
        #expect(bench.look() == [.failed(1, .timedOut(wasSent: false))])
    }

    @Test func `topics without listeners are not subscribed again`() {
        var bench = listening(1)
        bench.handle(.unsubscribe(1))
        bench.handle(.lost)
        bench.handle(.listen(2, "com.b"), .unsubscribe(2))
        #expect(bench.machine.topics.isEmpty)
        _ = bench.look()
        bench.join()
        #expect(bench.sent().count == 1)
    }

    @Test func `a temporary refusal after a reconnect is retried a limited number of times`() {
        var bench = listening(1)
        bench.rejoin()
        _ = bench.look()
        var tries: UInt64 = 1
        while tries < 20 {
            bench.receive(.aRefusal(.subscribe, tries, "wamp.error.unavailable"))
            bench.pass(.seconds(5))
            guard bench.look() == [.subscribe(tries + 1)] else { break }
            tries += 1
        }
        #expect(tries == 9)
        #expect(bench.machine.topics.isEmpty)
    }

    @Test func `a retry after a temporary refusal asks for the retained event again`() {
        var bench = listening(1, options: SubscribeOptions(wantsRetained: true))
        bench.rejoin()
        _ = bench.look()
        bench.receive(.aRefusal(.subscribe, 1, "wamp.error.unavailable"))
        bench.pass(.milliseconds(100))
        #expect(bench.look() == [.subscribe(2, "com.chat", ["get_retained": true])])
    }

    @Test func `an unanswered SUBSCRIBE of a new listener does not end the connection`() {
        var bench = listening(1)
        bench.rejoin()
        bench.handle(.listen(2), .unsubscribe(1))
        _ = bench.look()
        bench.pass(.seconds(10))
        #expect(bench.look() == [.failed(2, .timedOut(wasSent: true))])
    }

    @Test(arguments: [true, false])
    func `an overdue answer ends the connection once the topic is needed again`(isSubscribe: Bool) {
        var bench = isSubscribe ? ClientBench.joined() : listening(1)
        if isSubscribe { bench.handle(.listen(1)) }
        bench.handle(.unsubscribe(1))
        bench.pass(.seconds(9))
        bench.handle(.listen(2))
        #expect(!bench.look().contains { if case .event(.ended) = $0 { true } else { false } }, "the answer may still come")
        bench.pass(.seconds(1))
        bench.handle(.listen(3))
        let name = isSubscribe ? "SUBSCRIBE" : "UNSUBSCRIBE"
        #expect(bench.look().contains(.drop(.violation("\(name) was not answered in time"))))
        bench.rejoin()
        #expect(bench.sent().contains { if case .subscribe = $0 { true } else { false } }, "the listener with patience is subscribed again")
    }

    @Test func `a listener that comes after all have left subscribes with its own options`() {
        var bench = listening(1, options: SubscribeOptions(other: ["a": 1]))
        bench.handle(.unsubscribe(1), .listen(2, "com.chat", SubscribeOptions(other: ["b": 2])))
        _ = bench.look()
        bench.receive(.unsubscribed(request: 2, details: [:]))
        #expect(bench.look() == [.subscribe(3, "com.chat", ["b": 2])])
    }

    // MARK: Revocation

    @Test func `a revoked subscription is requested again after a pause, and the listener learns of the gap`() {
        var bench = listening(1)
        bench.receive(.unsubscribed(request: 0, details: ["subscription": 5, "reason": "com.acme.moved"]), .anEvent(5, 1))
        #expect(bench.look() == [])
        bench.pass(.milliseconds(100))
        #expect(bench.look() == [.subscribe(2)])
        bench.receive(.subscribed(request: 2, subscription: 6))
        #expect(bench.look() == [.subscribed(1, 6), .gap([1], .revoked(reason: "com.acme.moved"))])
    }

    @Test func `a subscription that is revoked repeatedly is given up`() {
        var bench = listening(1)
        for turn in 0..<8 {
            bench.receive(.unsubscribed(request: 0, details: ["subscription": 5]))
            bench.pass(.seconds(5))
            bench.receive(.subscribed(request: WAMPID(turn) + 2, subscription: 5))
        }
        _ = bench.look()
        bench.receive(.unsubscribed(request: 0, details: ["subscription": 5, "reason": "not a URI"]))
        #expect(bench.look() == [.failed(1, .refused(uri: "wamp.error.no_such_subscription", arguments: .none))])
    }

    @Test func `a subscription that lasted a minute resets the count of revocations`() {
        var bench = listening(1)
        for turn in 0..<20 {
            bench.pass(.seconds(60))
            bench.receive(.unsubscribed(request: 0, details: ["subscription": 5]))
            bench.pass(.milliseconds(100))
            #expect(bench.sent().count == 1)
            bench.receive(.subscribed(request: WAMPID(turn) + 2, subscription: 5))
        }
    }

    @Test func `a revocation without details or with an unknown id is ignored`() {
        var bench = listening(1)
        bench.receive(
            .unsubscribed(request: 0, details: [:]), .unsubscribed(request: 0, details: ["subscription": 6]),
            .unsubscribed(request: 0, details: ["subscription": "5"]), .unsubscribed(request: 0, details: ["subscription": -5]))
        bench.receive(.anEvent(5, 1))
        #expect(bench.look() == [.event([1], 5, 1)])
    }

    // MARK: The retained event

    @Test func `a later listener gets the retained event that it asked for, and the others do not get it again`() {
        var bench = listening(1)
        bench.handle(.listen(2, "com.chat", SubscribeOptions(wantsRetained: true)))
        #expect(bench.look() == [.subscribed(2, 5), .subscribe(2, "com.chat", ["get_retained": true])])
        bench.receive(.subscribed(request: 2, subscription: 5), .anEvent(5, 50, ["retained": true]), .anEvent(5, 51))
        #expect(bench.look() == [.event([2], 5, 50, ["retained": true]), .event([1, 2], 5, 51)])
    }

    @Test func `two initial listeners that want the retained event get it once each`() {
        var bench = ClientBench.joined()
        let options = SubscribeOptions(wantsRetained: true)
        bench.handle(.listen(1, "com.chat", options), .listen(2, "com.chat", options))
        #expect(bench.sent() == [.subscribe(request: 1, options: ["get_retained": true], topic: "com.chat")])
        bench.receive(.subscribed(request: 1, subscription: 5), .anEvent(5, 50, ["retained": true]), .anEvent(5, 51))
        #expect(
            bench.news() == [
                .subscribed(1, subscription: 5), .subscribed(2, subscription: 5),
                .event([1, 2], subscription: 5, publication: 50, details: ["retained": true], .none),
                .event([1, 2], subscription: 5, publication: 51, details: [:], .none),
            ])
    }

    @Test func `a retained event is delivered to a listener that asked for it, although others have seen it`() {
        var bench = listening(1, options: SubscribeOptions(historyAfterGap: 5))
        bench.receive(.anEvent(5, 50))
        bench.handle(.listen(2, "com.chat", SubscribeOptions(wantsRetained: true)))
        bench.receive(.subscribed(request: 2, subscription: 5))
        _ = bench.look()
        bench.receive(.anEvent(5, 50, ["retained": true]))
        #expect(bench.look() == [.event([2], 5, 50, ["retained": true])])
    }

    @Test func `each retained event of a pattern is delivered to the listeners that asked for it`() {
        var bench = ClientBench.joined()
        let key = TopicKey("com.", match: .prefix)
        bench.handle(.subscribe(1, key, SubscribeOptions(), patience: nil))
        bench.receive(.subscribed(request: 1, subscription: 5))
        bench.handle(.subscribe(2, key, SubscribeOptions(wantsRetained: true), patience: nil))
        bench.receive(.subscribed(request: 2, subscription: 5))
        _ = bench.look()
        bench.receive(.anEvent(5, 50, ["retained": true]), .anEvent(5, 51, ["retained": true]))
        #expect(bench.look() == [.event([2], 5, 50, ["retained": true]), .event([2], 5, 51, ["retained": true])])
    }

    @Test func `a refused second SUBSCRIBE only withholds the retained event`() {
        var bench = listening(1)
        bench.handle(.listen(2, "com.chat", SubscribeOptions(wantsRetained: true)))
        bench.receive(.aRefusal(.subscribe, 2, "wamp.error.invalid_argument"), .anEvent(5, 1))
        #expect(bench.look().last == .event([1, 2], 5, 1))
    }
}
