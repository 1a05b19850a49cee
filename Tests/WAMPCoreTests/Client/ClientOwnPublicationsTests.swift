import CodecCore
import MachineCore
import ProtocolCore
import Testing

@testable import WAMPCore

@Suite struct ClientOwnPublicationsTests {
    private let withHistory = SubscribeOptions(historyAfterGap: 10)

    /// A client whose listener 1 wants the history of a topic or a pattern.
    private func listening(_ key: TopicKey = TopicKey("com.chat")) -> ClientBench {
        var bench = ClientBench.joined()
        bench.handle(.subscribe(1, key, withHistory, patience: nil))
        bench.receive(.subscribed(request: 1, subscription: 5))
        _ = bench.look()
        return bench
    }
    private func publish(
        _ handle: ClientHandle, _ topic: String = "com.chat", _ options: PublishOptions = PublishOptions()
    ) -> ClientCommand {
        .publish(handle, topic: topic, .none, options)
    }
    private func sent(_ request: WAMPID, _ options: ValueMap, _ topic: String = "com.chat") -> ClientEffect {
        .send(.publish(request: request, options: options, topic: topic, .none))
    }
    /// Reconnects, answers the fetch with these publications, and returns the effects.
    private func recalled(_ publications: [Int64], _ bench: inout ClientBench) -> [ClientEffect] {
        bench.rejoin()
        bench.receive(.subscribed(request: 1, subscription: 6))
        _ = bench.look()
        let list = publications.enumerated().map { number, publication -> Value in
            ["timestamp": .integer(Int64(number)), "publication": .integer(publication)]
        }
        bench.receive(.aResult(2, WAMPArguments(list)))
        return bench.look()
    }

    @Test func `a client's own publications to others are left out of the history that it fetches`() {
        var bench = listening()
        bench.handle(publish(2), publish(3, "com.chat", PublishOptions(isAcknowledged: true)))
        #expect(
            bench.look() == [
                sent(2, ["acknowledge": true]), .event(.published(2, publication: nil)), sent(3, ["acknowledge": true]),
            ])
        bench.receive(.published(request: 2, publication: 101), .published(request: 3, publication: 102))
        #expect(bench.look() == [.event(.published(3, publication: 102))], "the app did not ask to acknowledge the first publication")
        #expect(recalled([100, 101, 102, 103], &bench) == [.gap([1], .filled(events: 2)), .event([1], 6, 100), .event([1], 6, 103)])
    }

    @Test func `a publication that includes its publisher stays in the history`() {
        var bench = listening()
        bench.handle(publish(2, "com.chat", PublishOptions(isAcknowledged: true, excludesMe: false)))
        bench.handle(publish(3, "com.chat", PublishOptions(excludesMe: false)))
        _ = bench.look()
        bench.receive(.published(request: 2, publication: 101))
        #expect(recalled([101, 102], &bench) == [.gap([1], .filled(events: 2)), .event([1], 6, 101), .event([1], 6, 102)])
    }

    @Test(arguments: [
        (TopicKey("com.chat"), ["com.chat"]), (TopicKey("com.ch", match: .prefix), ["com.chat", "com.ch.x", "com.ch"]),
        (TopicKey("com..x", match: .wildcard), ["com.ch.x"]), (TopicKey("", match: .prefix), ["com.chat", "com.ch.x", "com.ch"]),
        (TopicKey("..", match: .wildcard), ["com.ch.x"]),
    ])
    func `only publications to a topic with wanted history are acknowledged implicitly`(key: TopicKey, topics: [String]) {
        var bench = listening(key)
        for (number, topic) in ["com.chat", "com.ch.x", "com.ch"].enumerated() {
            bench.handle(publish(ClientHandle(UInt64(number) + 2), topic))
            let options: ValueMap = topics.contains(topic) ? ["acknowledge": true] : [:]
            #expect(bench.look().first == sent(WAMPID(number) + 2, options, topic))
        }
    }

    @Test func `without a listener that wants history nothing is acknowledged implicitly`() {
        var bench = listening()
        bench.handle(.listen(2))
        bench.handle(.unsubscribe(1), publish(3))
        #expect(bench.look().contains(sent(2, [:])))
    }

    @Test func `the answers to implicit acknowledgements stay internal and are no violation`() {
        var bench = listening()
        bench.handle(publish(2), publish(3))
        _ = bench.look()
        bench.receive(.aRefusal(.publish, 2, "wamp.error.not_authorized"), .published(request: 3, publication: 7))
        bench.receive(.published(request: 3, publication: 8))
        #expect(bench.look() == [])
        #expect(recalled([7, 8], &bench) == [.gap([1], .filled(events: 1)), .event([1], 6, 8)])
    }

    @Test func `an answer in the next session does not match a publication of the last one`() {
        var bench = listening()
        bench.handle(publish(2), publish(3))
        bench.rejoin()
        bench.receive(.subscribed(request: 1, subscription: 6), .aResult(2))
        bench.handle(publish(4, "com.chat", PublishOptions(isAcknowledged: true, excludesMe: false)))
        // In the last session the id 3 was that of the second publication.
        bench.receive(.published(request: 3, publication: 101))
        #expect(recalled([101], &bench).first == .gap([1], .filled(events: 1)))
    }

    @Test func `the number of unanswered publications that a client remembers is limited`() {
        var own = OwnPublications()
        let requests = WAMPID(1)...WAMPID(OwnPublications.capacity) + 1
        for request in requests { own.ask(request) }
        own.handle(1, publication: 1)
        own.handle(requests.upperBound, publication: 2)
        #expect(!own.contains(1) && own.contains(2))
    }
}
