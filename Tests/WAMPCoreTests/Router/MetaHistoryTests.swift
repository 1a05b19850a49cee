import CodecCore
import MachineCore
import Testing

@testable import WAMPCore

@Suite("Meta API: past events")
struct MetaHistoryTests {
    @Test("past events are returned in order with their times, details and arguments")
    func events() {
        var stage = MetaStage { ($0.historyLength, $0.epoch) = (10, Timestamp(seconds: 1_700_000_000)) }
        let (one, two) = (stage.join(1), stage.join(2))
        let id = stage.subscribe("com.", ["match": "prefix"], by: one)
        stage.now = Moment(.milliseconds(1005))
        _ = stage.publish("com.chat", WAMPArguments(["hi"], keywords: ["to": "all"]), ["disclose_me": true], by: two)
        let past = self.past(id, [:], of: &stage, by: one)
        #expect(past.count == 1)
        #expect(past.first?["timestamp"] == "2023-11-14T22:13:21.005Z")
        #expect(past.first?["subscription"] == Value(id))
        #expect(past.first?["topic"] == "com.chat")
        #expect(past.first?["details"]?["publisher"] == stage.id(two))
        #expect(past.first?["args"] == ["hi"])
        #expect(past.first?["kwargs"] == ["to": "all"])
    }

    @Test("past events are selected by order, number, time, topic and by other events")
    func filters() {
        var (stage, one, id) = chatter()
        let ids = past(id, [:], of: &stage, by: one).map { $0["publication"] ?? nil }
        let time = "2023-11-14T22:13:2"
        let cases: [(ValueMap, [Int])] = [
            ([:], [0, 1, 2, 3, 4]), (["reverse": true], [4, 3, 2, 1, 0]), (["limit": 2], [0, 1]), (["limit": 2, "reverse": true], [4, 3]),
            (["from_time": .text(time + "2Z")], [2, 3, 4]), (["after_time": .text(time + "2.000Z")], [3, 4]),
            (["before_time": .text(time + "2Z")], [0, 1]), (["until_time": .text(time + "2Z")], [0, 1, 2]),
            (["topic": "com.a"], [0, 2, 4]),
            (["from_publication": ids[3]], [3, 4]), (["after_publication": ids[3]], [4]), (["before_publication": ids[3]], [0, 1, 2]),
            (["until_publication": ids[3]], [0, 1, 2, 3]), (["after_publication": ids[0], "until_publication": ids[2]], [1, 2]),
            (["after_publication": ids[3], "before_publication": ids[1]], []),
            (["after_publication": ids[1], "topic": "com.a", "limit": 1, "reverse": true], [4]),
            // An event that is no longer stored counts as older than all others.
            (["after_publication": 1], [0, 1, 2, 3, 4]), (["until_publication": 1], []),
        ]
        for (filter, places) in cases {
            #expect(
                past(id, filter, of: &stage, by: one).map { $0["publication"] ?? nil } == places.map { ids[$0] }, "\(Value.map(filter))")
        }
    }

    @Test("an answer is limited in bytes, and an oversized event is returned alone")
    func bytes() {
        var stage = MetaStage { $0.historyLength = 10 }
        let (one, two) = (stage.join(1), stage.join(2))
        let id = stage.subscribe("com.chat", by: one)
        let text = String(repeating: "x", count: 200 * 1024)
        for number in 0..<5 as Range<Int64> { _ = stage.publish("com.chat", WAMPArguments([.integer(number), .text(text)]), by: two) }
        func numbers(_ filter: ValueMap) -> [Int?] { past(id, filter, of: &stage, by: one).map { $0["args"]?.items?.first?.int } }
        #expect(numbers([:]) == [0, 1])
        #expect(numbers(["reverse": true]) == [4, 3])
        _ = stage.publish("com.chat", WAMPArguments([5], keywords: ["text": .text(text + text + text)]), by: two)
        #expect(numbers(["reverse": true]) == [5])
    }

    @Test("invalid conditions are refused")
    func invalid() {
        var (stage, one, id) = chatter()
        let cases: [ValueMap] = [
            ["limit": 0], ["limit": "all"], ["reverse": 1], ["from_time": "yesterday"], ["after_time": 5], ["topic": 5],
            ["from_publication": "first"], ["until_publication": -1],
        ]
        for filter in cases {
            #expect(
                stage.ask("wamp.subscription.get_events", [Value(id)], filter, by: one) == .error(WAMPURI.Error.invalidArgument),
                "\(Value.map(filter))")
        }
    }

    @Test("events that were hidden from a role stay hidden in the history")
    func audience() {
        var stage = MetaStage { $0.historyLength = 10 }
        let (one, two) = (stage.join(1), stage.join(2, as: "admin"))
        let id = stage.subscribe("com.chat", by: one)
        _ = stage.publish("com.chat", WAMPArguments(["secret"]), ["eligible_authrole": ["admin"], "exclude_me": false], by: two)
        #expect(past(id, [:], of: &stage, by: one).isEmpty)
        #expect(past(id, [:], of: &stage, by: two).count == 1)
    }

    /// Five events, one a second, alternating between `com.a` and `com.b`.
    private func chatter() -> (MetaStage, MetaStage.Client, WAMPID) {
        var stage = MetaStage { ($0.historyLength, $0.epoch) = (10, Timestamp(seconds: 1_700_000_000)) }
        let one = stage.join(1)
        let id = stage.subscribe("com.", ["match": "prefix"], by: one)
        for second in 0..<5 {
            // Slightly later than the milliseconds in the timestamp.
            stage.now = Moment(.seconds(second) + .microseconds(300))
            _ = stage.publish(second.isMultiple(of: 2) ? "com.a" : "com.b", .none, ["exclude_me": false], by: one)
        }
        return (stage, one, id)
    }

    private func past(_ id: WAMPID, _ filter: ValueMap, of stage: inout MetaStage, by client: MetaStage.Client) -> [Value] {
        guard case .result(let events)? = stage.ask("wamp.subscription.get_events", [Value(id)], filter, by: client) else { return [] }
        return events
    }
}
