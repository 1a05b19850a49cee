import CodecCore
import MachineCore
import Testing

@testable import WAMPCore

/// WAMP, "Subscribing and Unsubscribing", "Pattern-based Subscription" and "Subscription Revocation".
@Suite struct BrokerSubscribingTests {
    private var stage = RouterStage()

    @Test("sessions share the id of a topic, and another match policy is another subscription") mutating func ids() throws {
        let (ann, bob) = (stage.join(), stage.join())
        let id = try stage.subscribe(ann, "a.b")
        #expect(try stage.subscribe(bob, "a.b") == id)
        #expect(try stage.subscribe(ann, "a.b", ["match": "exact"]) == id)
        let prefix = try stage.subscribe(ann, "a.b", ["match": "prefix"])
        let wildcard = try stage.subscribe(ann, "a.b", ["match": "wildcard"])
        #expect(Set([id, prefix, wildcard]).count == 3)
        #expect(try stage.subscribe(stage.join("realm2"), "a.b") != id)
    }

    @Test("a second SUBSCRIBE of a session changes nothing, and one UNSUBSCRIBE ends it") mutating func twice() throws {
        let (ann, bob) = (stage.join(), stage.join())
        let id = try stage.subscribe(ann, "a.b")
        #expect(try stage.subscribe(ann, "a.b") == id)
        stage.publish(bob, "a.b")
        #expect(try stage.events(ann).count == 1)
        stage.unsubscribe(ann, id)
        stage.publish(bob, "a.b")
        #expect(stage.received(ann) == [.unsubscribed(request: 3, details: [:])])
        stage.unsubscribe(ann, id)
        #expect(stage.received(ann).map(\.reason) == [WAMPURI.Error.noSuchSubscription] && stage.closed.isEmpty)
    }

    @Test("a session cannot end the subscription of another") mutating func others() throws {
        let (ann, bob) = (stage.join(), stage.join())
        let id = try stage.subscribe(ann, "a.b")
        stage.unsubscribe(bob, id)
        #expect(stage.received(bob).map(\.reason) == [WAMPURI.Error.noSuchSubscription])
        stage.publish(bob, "a.b")
        #expect(try stage.events(ann).map(\.subscription) == [id])
    }

    @Test("each matching subscription gets the event under one publication id, and patterns get the topic")
    mutating func patterns() throws {
        let (ann, bob) = (stage.join(), stage.join())
        let exact = try stage.subscribe(ann, "com.app.user.created")
        let prefix = try stage.subscribe(ann, "com.app.us", ["match": "prefix"])
        let longer = try stage.subscribe(ann, "com.app.user", ["match": "prefix"])
        let wildcard = try stage.subscribe(ann, "com..user.", ["match": "wildcard"])
        let _ = try stage.subscribe(ann, "com..user", ["match": "wildcard"])
        stage.publish(bob, "com.app.user.created", [:], 7)
        let events = try stage.events(ann)
        #expect(events.map(\.subscription) == [exact, longer, prefix, wildcard])
        #expect(Set(events.map(\.publication)).count == 1 && events.allSatisfy { $0.list == [7] })
        #expect(events.map { $0.details["topic"] } == [nil, "com.app.user.created", "com.app.user.created", "com.app.user.created"])
    }

    @Test("an invalid URI is refused", arguments: ["", "a..b", "a.", "a b", "a#b"])
    mutating func invalid(uri: String) {
        let ann = stage.join()
        stage.send(.subscribe(request: 1, options: [:], topic: uri), from: ann)
        stage.send(.publish(request: 2, options: ["acknowledge": true], topic: uri, .none), from: ann)
        stage.send(.publish(request: 3, options: [:], topic: uri, .none), from: ann)
        #expect(stage.received(ann).map(\.reason) == [WAMPURI.Error.invalidURI, WAMPURI.Error.invalidURI] && stage.closed.isEmpty)
    }

    @Test("strict URIs and a limit of length refuse more topics") mutating func strict() throws {
        stage = RouterStage(RouterPolicy(hasStrictURIs: true, maximumURI: 20))
        let ann = stage.join()
        let _ = try stage.subscribe(ann, "com.app_1.x")
        for uri in ["com.App", String(repeating: "a", count: 21)] {
            let request = stage.next(ann)
            stage.send(.subscribe(request: request, options: [:], topic: uri), from: ann)
            #expect(stage.received(ann).map(\.reason) == [WAMPURI.Error.invalidURI])
        }
    }

    @Test("only the router publishes under wamp") mutating func reserved() throws {
        let (ann, bob) = (stage.join(), stage.join())
        let _ = try stage.subscribe(ann, "wamp", ["match": "prefix"])
        for topic in ["wamp.session.on_join", "wamp"] { stage.publish(bob, topic, ["acknowledge": true]) }
        #expect(stage.received(bob).map(\.reason) == [WAMPURI.Error.invalidURI, WAMPURI.Error.invalidURI])
        #expect(try stage.events(ann).isEmpty)
        stage.publish(bob, "wampum")
        #expect(try stage.events(ann).count == 1)
    }

    @Test("the number of subscriptions of a session is limited, and UNSUBSCRIBE frees one") mutating func bound() throws {
        stage = RouterStage(RouterPolicy(maximumSubscriptions: 2))
        let (ann, bob) = (stage.join(), stage.join())
        let id = try stage.subscribe(ann, "a")
        let _ = try stage.subscribe(ann, "b")
        // The subscription of another session, one beyond the limit, and an existing one again.
        let _ = try stage.subscribe(bob, "c")
        let request = stage.next(ann)
        stage.send(.subscribe(request: request, options: [:], topic: "c"), from: ann)
        #expect(stage.received(ann).map(\.reason) == [WAMPURI.Error.unavailable])
        #expect(try stage.subscribe(ann, "a") == id)
        stage.unsubscribe(ann, id)
        #expect(stage.received(ann).count == 1)
        #expect(try stage.subscribe(ann, "c") != id)
    }

    @Test("a revoked subscription gets no more events, and its subscriber is told if it announced that", arguments: [true, false])
    mutating func revocation(understands: Bool) throws {
        let roles: Value = understands ? RouterStage.roles : ["subscriber": [:]]
        let (ann, bob) = (stage.join(roles: roles), stage.join())
        let id = try stage.subscribe(ann, "a")
        stage.give(.revoke(realm: "realm1", id: id, reason: "com.app.no"), .revoke(realm: "realm1", id: id, reason: "com.app.no"))
        let revocation = WAMPMessage.unsubscribed(request: 0, details: ["subscription": Value(id), "reason": "com.app.no"])
        #expect(stage.received(ann) == (understands ? [revocation] : []))
        stage.publish(bob, "a")
        #expect(stage.received(ann).isEmpty)
        #expect(try stage.subscribe(ann, "a") != id)
    }

    @Test("with the quirk of nexus a revocation is not announced") mutating func concealed() throws {
        stage = RouterStage(RouterPolicy(quirks: .nexus))
        let ann = stage.join()
        let id = try stage.subscribe(ann, "a")
        stage.give(.revoke(realm: "realm1", id: id, reason: "com.app.no"), .revoke(realm: "realm7", id: id, reason: ""))
        #expect(stage.received(ann).isEmpty && stage.router.realms[0]?.broker.isEmpty == true)
    }

    @Test("subscriptions can be looked up with their subscribers") mutating func lookup() throws {
        stage = RouterStage(RouterPolicy(epoch: Timestamp(seconds: 1_767_225_600)))
        let (ann, bob) = (stage.join(), stage.join())
        stage.pass(.milliseconds(1500))
        let exact = try stage.subscribe(ann, "a.b")
        let prefix = try stage.subscribe(bob, "a", ["match": "prefix"])
        let _ = try stage.subscribe(bob, "a.b")
        let broker = try #require(stage.router.realms[0]?.broker)
        #expect(broker.subscriptions(matching: .exact) == [exact] && broker.subscriptions(matching: .prefix) == [prefix])
        #expect(broker.subscriptions(matching: .wildcard).isEmpty)
        #expect(
            broker.index["a", .prefix] == prefix && broker.index["a", .exact] == nil && broker.index.matches(of: "a.b") == [exact, prefix])
        #expect(broker.details(of: exact) == ["id": Value(exact), "created": "2026-01-01T00:00:01.5Z", "uri": "a.b", "match": "exact"])
        let sessions = try [ann, bob].map { try stage.session(of: $0) }
        #expect(broker.subscribers(of: exact) == sessions.sorted() && broker.countSubscribers(of: prefix) == 1)
        #expect(broker.subscribers(of: 1) == nil && broker.countSubscribers(of: 1) == nil && broker.details(of: 1) == nil)
    }
}
