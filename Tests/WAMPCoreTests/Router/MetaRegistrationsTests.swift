import CodecCore
import MachineCore
import Testing

@testable import WAMPCore

@Suite("Meta API: registrations and subscriptions")
struct MetaRegistrationsTests {
    @Test("registrations are listed by match policy, looked up by URI, and matched like a call")
    func registrations() {
        var stage = MetaStage()
        let one = stage.join(1)
        let exact = Value(stage.register("com.app.add", by: one))
        let prefix = Value(stage.register("com.app", ["match": "prefix"], by: one))
        let wildcard = Value(stage.register("com..sub", ["match": "wildcard"], by: one))
        #expect(stage.ask("wamp.registration.list", by: one) == .result([["exact": [exact], "prefix": [prefix], "wildcard": [wildcard]]]))
        #expect(stage.ask("wamp.registration.lookup", ["com.app.add"], by: one) == .result([exact]))
        #expect(stage.ask("wamp.registration.lookup", ["com.app", ["match": "prefix"]], by: one) == .result([prefix]))
        #expect(stage.ask("wamp.registration.lookup", ["com.app"], by: one) == .result([nil]))
        #expect(stage.ask("wamp.registration.lookup", ["com.app", ["match": "like"]], by: one) == .error(WAMPURI.Error.invalidArgument))
        #expect(stage.ask("wamp.registration.match", ["com.app.sub"], by: one) == .result([prefix]))
        #expect(stage.ask("wamp.registration.match", ["com.web.sub"], by: one) == .result([wildcard]))
        #expect(stage.ask("wamp.registration.match", ["org"], by: one) == .result([nil]))
    }

    @Test("an argument that is slow to compare is refused, but the content of a testament is not compared")
    func slowArguments() throws {
        let slow = Value.text(String(repeating: "\u{315}\u{300}", count: 1000))
        for list: [Value] in [[slow], ["a", ["match": slow]], ["a", [slow]]] {
            #expect(throws: MetaRefusal.self) { try MetaCall(WAMPArguments(list)) }
        }
        #expect(throws: MetaRefusal.self) { try MetaCall(WAMPArguments([slow, []]), carriesEvent: true) }
        let testament = try MetaCall(WAMPArguments(["a", [slow], ["text": slow]]), carriesEvent: true)
        #expect(testament.list.count == 3)
    }

    @Test("the details of a registration, its callees and their number are found by its id")
    func registration() {
        var stage = MetaStage { $0.epoch = Timestamp(seconds: 1_700_000_000) }
        let (one, two) = (stage.join(1), stage.join(2))
        let id = Value(stage.register("com.add", ["invoke": "random"], by: one))
        _ = stage.register("com.add", ["invoke": "random"], by: two)
        let details: Value = ["id": id, "created": "2023-11-14T22:13:20Z", "uri": "com.add", "match": "exact", "invoke": "random"]
        #expect(stage.ask("wamp.registration.get", [id], by: one) == .result([details]))
        #expect(stage.ask("wamp.registration.list_callees", [id], by: one) == .result([[stage.id(one), stage.id(two)]]))
        #expect(stage.ask("wamp.registration.count_callees", [id], by: one) == .result([2]))
        for procedure in ["get", "list_callees", "count_callees"] {
            #expect(stage.ask("wamp.registration.\(procedure)", [1], by: one) == .error(WAMPURI.Error.noSuchRegistration))
            #expect(stage.ask("wamp.registration.\(procedure)", by: one) == .error(WAMPURI.Error.invalidArgument))
        }
    }

    @Test("meta events of registrations go to their subscribers")
    func registrationEvents() {
        var stage = MetaStage()
        let (one, two) = (stage.join(1), stage.join(2))
        let topics = ["create", "register", "unregister", "delete"].map { stage.subscribe("wamp.registration.on_\($0)", by: one) }
        let effects = stage.send(two) { .register(request: $0, options: [:], procedure: "com.add") }
        guard case .send(.registered(_, let id), _)? = effects.first else {
            Issue.record("\(effects)")
            return
        }
        let details: Value = ["id": Value(id), "created": "1970-01-01T00:00:00Z", "uri": "com.add", "match": "exact", "invoke": "single"]
        #expect(effects.events(of: topics[0]) == [[stage.id(two), details]])
        #expect(effects.events(of: topics[1]) == [[stage.id(two), Value(id)]])
        #expect(effects.types == [65, 36, 36])
        let end = stage.put(.closed(two.connection))
        #expect(end.events(of: topics[2]) == [[stage.id(two), Value(id)]])
        #expect(end.events(of: topics[3]) == [[stage.id(two), Value(id)]])
    }

    @Test("subscriptions are listed by match policy, looked up by URI, and matched like an event")
    func subscriptions() {
        var stage = MetaStage()
        let (one, two) = (stage.join(1), stage.join(2))
        let exact = Value(stage.subscribe("com.app.chat", by: one))
        let prefix = Value(stage.subscribe("com.app", ["match": "prefix"], by: one))
        _ = stage.subscribe("com.app.chat", by: two)
        #expect(stage.ask("wamp.subscription.list", by: one) == .result([["exact": [exact], "prefix": [prefix], "wildcard": []]]))
        #expect(stage.ask("wamp.subscription.lookup", ["com.app", ["match": "prefix"]], by: one) == .result([prefix]))
        #expect(stage.ask("wamp.subscription.lookup", ["com.app"], by: one) == .result([nil]))
        #expect(stage.ask("wamp.subscription.match", ["com.app.chat"], by: one) == .result([[exact, prefix]]))
        #expect(stage.ask("wamp.subscription.match", ["org"], by: one) == .result([nil]))
        let details: Value = ["id": exact, "created": "1970-01-01T00:00:00Z", "uri": "com.app.chat", "match": "exact"]
        #expect(stage.ask("wamp.subscription.get", [exact], by: one) == .result([details]))
        #expect(stage.ask("wamp.subscription.count_subscribers", [exact], by: one) == .result([2]))
        let both = [stage.session(one), stage.session(two)].sorted().map { Value($0) }
        #expect(stage.ask("wamp.subscription.list_subscribers", [exact], by: one) == .result([.array(both)]))
        for procedure in ["get", "list_subscribers", "count_subscribers", "get_events"] {
            #expect(stage.ask("wamp.subscription.\(procedure)", [1], by: one) == .error(WAMPURI.Error.noSuchSubscription))
            #expect(stage.ask("wamp.subscription.\(procedure)", by: one) == .error(WAMPURI.Error.invalidArgument))
        }
    }

    @Test("meta events of subscriptions go to their subscribers, except for those of meta topics")
    func subscriptionEvents() {
        var stage = MetaStage()
        let (one, two) = (stage.join(1), stage.join(2))
        let topics = ["create", "subscribe", "unsubscribe", "delete"].map { stage.subscribe("wamp.subscription.on_\($0)", by: one) }
        let effects = stage.send(two) { .subscribe(request: $0, options: [:], topic: "com.chat") }
        guard case .send(.subscribed(_, let id), _)? = effects.first else {
            Issue.record("\(effects)")
            return
        }
        let details: Value = ["id": Value(id), "created": "1970-01-01T00:00:00Z", "uri": "com.chat", "match": "exact"]
        #expect(effects.events(of: topics[0]) == [[stage.id(two), details]])
        #expect(effects.events(of: topics[1]) == [[stage.id(two), Value(id)]])
        #expect(stage.send(two) { .subscribe(request: $0, options: [:], topic: "wamp.session.on_join") }.types == [33])
        let end = stage.send(two) { .unsubscribe(request: $0, subscription: id) }
        #expect(end.types == [35, 36, 36])
        #expect(end.events(of: topics[2]) == [[stage.id(two), Value(id)]])
        #expect(end.events(of: topics[3]) == [[stage.id(two), Value(id)]])
    }
}
