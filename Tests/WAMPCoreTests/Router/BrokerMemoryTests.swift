import CodecCore
import MachineCore
import Testing

@testable import WAMPCore

/// What the broker stores: WAMP, "Event Retention", "Event History" and "Testament".
@Suite struct BrokerMemoryTests {
    private var stage = RouterStage()

    // MARK: Retained events

    @Test("a subscriber that wants the retained event gets the last one, marked, after SUBSCRIBED") mutating func retention() throws {
        let (ann, bob) = (stage.join(), stage.join())
        stage.publish(ann, "a", ["retain": true], 1)
        stage.publish(ann, "a", ["retain": true], 2)
        stage.publish(ann, "a", [:], 3)
        let request = stage.next(bob)
        stage.send(.subscribe(request: request, options: ["get_retained": true], topic: "a"), from: bob)
        let inbox = stage.received(bob)
        guard inbox.count == 2, case .subscribed(request, let id) = inbox[0], case .event(id, _, let details, let arguments) = inbox[1]
        else {
            Issue.record("\(inbox)")
            return
        }
        #expect(try details == ["retained": true] && arguments.list == [2])
        // A subscriber that does not ask gets none; one that asks again gets it again.
        let _ = try stage.subscribe(bob, "a")
        #expect(try stage.events(bob).isEmpty)
        let _ = try stage.subscribe(bob, "a", ["get_retained": true])
        #expect(try stage.events(bob).map(\.list) == [[2]])
    }

    @Test("a pattern gets the retained events of all its topics, oldest first") mutating func retainedPatterns() throws {
        let (ann, bob) = (stage.join(), stage.join())
        for (number, topic) in ["a.c", "a.b", "b.a", "a.c"].enumerated() {
            stage.publish(ann, topic, ["retain": true], .integer(Int64(number)))
        }
        let _ = try stage.subscribe(bob, "a.", ["match": "prefix", "get_retained": true])
        let events = try stage.events(bob)
        #expect(events.map(\.list) == [[1], [3]] && events.map { $0.details["topic"] } == ["a.b", "a.c"])
        let _ = try stage.subscribe(bob, ".a", ["match": "wildcard", "get_retained": true])
        #expect(try stage.events(bob).map(\.list) == [[2]])
    }

    @Test("a subscriber gets the last retained event that was addressed to it") mutating func retainedAudience() throws {
        let publisher = stage.join(as: "ann")
        stage.publish(publisher, "a", ["retain": true], "all")
        stage.publish(publisher, "a", ["retain": true, "eligible_authrole": ["admin"]], "admins")
        stage.publish(publisher, "a", ["retain": true, "exclude_authid": ["bob"]], "not bob")
        func retained(_ client: RouterConnection, _ stage: inout RouterStage) throws -> [[Value]] {
            let _ = try stage.subscribe(client, "a", ["get_retained": true])
            return try stage.events(client).map(\.list)
        }
        #expect(try retained(stage.join(as: "bob", role: "user"), &stage) == [["all"]])
        #expect(try retained(stage.join(as: "bob", role: "admin"), &stage) == [["admins"]])
        #expect(try retained(stage.join(as: "eve", role: "user"), &stage) == [["not bob"]])
        #expect(try retained(publisher, &stage).isEmpty)
        // Many events for some receivers do not replace the one for all.
        for _ in 0..<20 { stage.publish(publisher, "a", ["retain": true, "eligible": [1]], "nobody") }
        #expect(try retained(stage.join(as: "bob", role: "user"), &stage) == [["all"]])
    }

    @Test("events on topics beyond the limit are not retained, and retained ones stay up to date") mutating func retainedBound() throws {
        stage = RouterStage(RouterPolicy(hasMetaAPI: false, maximumRetained: 2))
        let (ann, bob) = (stage.join(), stage.join())
        for (number, topic) in ["a", "b", "c", "a"].enumerated() { stage.publish(ann, topic, ["retain": true], .integer(Int64(number))) }
        let _ = try stage.subscribe(bob, "", ["match": "prefix", "get_retained": true])
        #expect(try stage.events(bob).map(\.list) == [[1], [3]])
    }

    @Test("a pattern gets only the most recent long retained events, and an oversized one alone") mutating func retainedBytes() throws {
        let (ann, bob) = (stage.join(), stage.join())
        let text = String(repeating: "x", count: 400 * 1024)
        for topic in ["a.a", "a.b", "a.c"] { stage.publish(ann, topic, ["retain": true], .text(text)) }
        let _ = try stage.subscribe(bob, "a.", ["match": "prefix", "get_retained": true])
        #expect(try stage.events(bob).map { $0.details["topic"] } == ["a.b", "a.c"])
        stage.publish(ann, "b.a", ["retain": true], .text(text + text + text))
        let _ = try stage.subscribe(bob, "b.", ["match": "prefix", "get_retained": true])
        #expect(try stage.events(bob).map { $0.details["topic"] } == ["b.a"])
    }

    @Test("a dynamic realm ends with its last session, unless it has a retained event") mutating func realmLife() throws {
        let ann = stage.join("one")
        stage.publish(ann, "a", ["retain": true], 1)
        stage.give(.closed(ann), .closed(stage.join("two")))
        #expect(Array(stage.router.places.keys) == ["one"])
        let bob = stage.join("one")
        let _ = try stage.subscribe(bob, "a", ["get_retained": true])
        #expect(try stage.events(bob).map(\.list) == [[1]])
    }

    // MARK: History

    @Test("a subscription keeps its last events, also while it has no subscriber") mutating func history() throws {
        stage = RouterStage(RouterPolicy(historyLength: 3))
        let (ann, bob) = (stage.join(as: "ann"), stage.join(as: "bob"))
        let id = try stage.subscribe(bob, "a")
        for number in 0..<10 as Range<Int64> {
            if number == 8 { stage.unsubscribe(bob, id) }
            stage.publish(ann, "a", [:], .integer(number))
        }
        #expect(try stage.subscribe(bob, "a") == id)
        let reader = try #require(stage.router.peers[bob]?.session?.participant)
        let events = try #require(stage.router.realms[0]?.broker.history(of: id, for: reader))
        #expect(try events.map { try $0.arguments.list } == [[7], [8], [9]])
        #expect(stage.router.realms[0]?.broker.history(of: 1, for: reader) == nil)
    }

    @Test("a history without a limit keeps all events") mutating func endlessHistory() throws {
        stage = RouterStage(RouterPolicy(historyLength: .max))
        let (ann, bob) = (stage.join(), stage.join())
        let id = try stage.subscribe(bob, "a")
        for number in 0..<5 as Range<Int64> { stage.publish(ann, "a", [:], .integer(number)) }
        let reader = try #require(stage.router.peers[bob]?.session?.participant)
        #expect(
            try stage.router.realms[0]?.broker.history(of: id, for: reader)?.map { try $0.arguments.list } == [[0], [1], [2], [3], [4]])
    }

    @Test("a session reads only history addressed to it, and events for certain sessions are not stored") mutating func privateHistory()
        throws
    {
        stage = RouterStage(RouterPolicy(historyLength: 9))
        let (ann, bob) = (stage.join(as: "ann"), stage.join(as: "bob"))
        let id = try stage.subscribe(bob, "a")
        stage.publish(ann, "a", ["eligible_authid": ["ann"], "exclude_me": false], 1)
        stage.publish(ann, "a", ["exclude": [99], "exclude_me": false], 2)
        stage.publish(ann, "a", ["exclude_me": false], 3)
        let broker = try #require(stage.router.realms[0]?.broker)
        let readers = try [ann, bob].map { try #require(stage.router.peers[$0]?.session?.participant) }
        #expect(try readers.map { try broker.history(of: id, for: $0)?.map { try $0.arguments.list } } == [[[1], [3]], [[3]]])
    }

    @Test("a session's history omits its own events, unless it did not exclude itself") mutating func ownHistory() throws {
        stage = RouterStage(RouterPolicy(historyLength: 9))
        let (ann, bob) = (stage.join(), stage.join())
        let id = try stage.subscribe(ann, "a")
        stage.publish(ann, "a", [:], 1)
        stage.publish(ann, "a", ["exclude_me": false], 2)
        let broker = try #require(stage.router.realms[0]?.broker)
        let readers = try [ann, bob].map { try #require(stage.router.peers[$0]?.session?.participant) }
        #expect(try readers.map { try broker.history(of: id, for: $0)?.map { try $0.arguments.list } } == [[[2]], [[1], [2]]])
    }

    @Test("subscriptions kept for their history are limited, and the one left first is removed") mutating func historyBound() throws {
        stage = RouterStage(RouterPolicy(historyLength: 3, maximumHistories: 2))
        let ann = stage.join()
        let ids = try ["a", "b", "c"].map { try stage.subscribe(ann, $0) }
        for id in [ids[1], ids[0], ids[2]] { stage.unsubscribe(ann, id) }
        #expect(Set((stage.router.realms[0]?.broker.subscriptions ?? [:]).keys) == [ids[0], ids[2]])
        #expect(try stage.subscribe(ann, "b") != ids[1])
        #expect(try stage.subscribe(ann, "a") == ids[0])
        #expect(stage.router.realms[0]?.broker.lingering == [ids[2]])
    }

    @Test("a revoked subscription that was kept only for its history is removed completely") mutating func historyRevoked() throws {
        stage = RouterStage(RouterPolicy(historyLength: 3))
        let ann = stage.join()
        let id = try stage.subscribe(ann, "a")
        stage.unsubscribe(ann, id)
        let before = try #require(stage.router.realms[0]?.broker)
        #expect(before.lingering == [id] && before.subscribers(of: id) == [])
        stage.give(.revoke(realm: "realm1", id: id, reason: "com.app.no"))
        #expect(stage.router.realms[0]?.broker.isEmpty == true)
    }

    @Test("a dynamic realm stays for the history of a subscription, which has the same id again later") mutating func historyRealm()
        throws
    {
        stage = RouterStage(RouterPolicy(historyLength: 3))
        let ann = stage.join()
        let id = try stage.subscribe(ann, "a")
        stage.give(.closed(ann))
        #expect(try stage.subscribe(stage.join(), "a") == id)
    }

    // MARK: Testaments

    @Test("testaments are published however the session ends", arguments: 0...4) mutating func testaments(end: Int) throws {
        let (ann, bob) = (stage.join(as: "ann"), stage.join())
        for client in [ann, bob] { let _ = try stage.subscribe(client, "a") }
        let participant = try #require(stage.router.peers[ann]?.session?.participant)
        for (list, isDetached) in [([1], false), ([2], true), ([3], false)] as [([Value], Bool)] {
            let testament = try BrokerPublication("a", WAMPArguments(list), options: ["disclose_me": true])
            #expect(stage.router.addTestament(testament, isDetached: isDetached, of: participant) == nil)
        }
        let id = try stage.session(of: ann)
        switch end {
        case 0: stage.give(.closed(ann))
        case 1: stage.send(.goodbye(details: [:], reason: WAMPURI.Close.normal, .none), from: ann)
        case 2: stage.give(.kill(session: id, reason: WAMPURI.Close.killed, message: nil))
        case 3: stage.give(.overrun(ann))
        default: stage.publish(ann, "a", ["acknowledge": 1])
        }
        let events = try stage.events(bob)
        #expect(events.map(\.list) == [[2], [1], [3]] && events.allSatisfy { $0.details["publisher_authid"] == "ann" })
        #expect(try stage.events(ann).isEmpty)
    }

    @Test("flushed testaments are not published, those of the other scope are") mutating func flush() throws {
        let (ann, bob) = (stage.join(), stage.join())
        let _ = try stage.subscribe(bob, "a")
        let participant = try #require(stage.router.peers[ann]?.session?.participant)
        for isDetached in [true, false] {
            let testament = BrokerPublication("a", WAMPArguments([.bool(isDetached)]))
            #expect(stage.router.addTestament(testament, isDetached: isDetached, of: participant) == nil)
        }
        stage.router.flushTestaments(of: participant.connection) { $0.removeAll(isDetached: true) }
        stage.give(.closed(ann))
        #expect(try stage.events(bob).map(\.list) == [[false]])
    }

    @Test("a testament with an invalid topic is refused, and so is one beyond the limit") mutating func refusedTestaments() throws {
        stage = RouterStage(RouterPolicy(maximumTestaments: 1))
        let ann = stage.join()
        let participant = try #require(stage.router.peers[ann]?.session?.participant)
        for topic in ["wamp.session.on_leave", "a..b"] {
            let refusal = stage.router.addTestament(BrokerPublication(topic, .none), isDetached: false, of: participant)
            #expect(refusal?.uri == WAMPURI.Error.invalidURI)
        }
        #expect(stage.router.addTestament(BrokerPublication("a", .none), isDetached: true, of: participant) == nil)
        #expect(
            stage.router.addTestament(BrokerPublication("a", .none), isDetached: false, of: participant)?.uri == WAMPURI.Error.unavailable)
    }
}
