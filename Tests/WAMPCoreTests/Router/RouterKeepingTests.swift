import CodecCore
import MachineCore
import Testing

@testable import WAMPCore

/// Limits on the bytes that a router stores, by session, user, address and realm.
@Suite struct RouterKeepingTests {
    private static let content = Value.text(String(repeating: "x", count: 3900))

    /// A router that stores about five events of 4,000 bytes for a session, nine in a realm, and twenty in all.
    private func stage(_ change: (inout RouterPolicy) -> Void = { _ in }) -> RouterStage {
        var policy = RouterPolicy(hasMetaAPI: false, maximumKeptBySession: 22_000, maximumKeptInRealm: 40_000, maximumKept: 88_000)
        change(&policy)
        return RouterStage(policy)
    }

    /// Whether a publication with `retain` was accepted.
    private func retains(_ client: RouterConnection, _ topic: String, _ stage: inout RouterStage) -> Bool {
        stage.publish(client, topic, ["retain": true, "acknowledge": true], Self.content)
        switch stage.received(client).last {
        case .published: return true
        case .error(.publish, _, _, WAMPURI.Error.unavailable, _): return false
        default:
            Issue.record("no answer")
            return false
        }
    }

    /// The topics of the retained events that a new session gets under a prefix.
    private func replayed(_ prefix: String, _ stage: inout RouterStage, realm: String = "realm1") throws -> [String] {
        let reader = stage.join(realm)
        let _ = try stage.subscribe(reader, prefix, ["match": "prefix", "get_retained": true])
        defer { stage.give(.closed(reader)) }
        return try stage.events(reader).compactMap { $0.details["topic"]?.string }
    }

    @Test func `a session has a limit of retained bytes, gets an error beyond it, and may replace its own event`() throws {
        var stage = stage()
        let (ann, bob) = (stage.join(), stage.join())
        let _ = try stage.subscribe(bob, "a.", ["match": "prefix"])
        #expect((0..<6).map { retains(ann, "a.t\($0)", &stage) } == [true, true, true, true, true, false])
        #expect(retains(ann, "a.t0", &stage))
        // A refused event reaches no subscriber. Without acknowledgement its publisher gets no answer.
        #expect(try stage.events(bob).count == 6)
        stage.publish(ann, "a.t9", ["retain": true], Self.content)
        #expect(try stage.received(ann).isEmpty && stage.events(bob).isEmpty)
        // An event that is not to be retained is still published.
        stage.publish(ann, "a.t9", [:], Self.content)
        #expect(try stage.events(bob).count == 1)
        #expect(retains(bob, "b", &stage))
    }

    @Test func `retained events outlive their session until others need the room, those left first going first`() throws {
        var stage = stage()
        let first = stage.join()
        for number in 0..<5 { #expect(retains(first, "a.t\(number)", &stage)) }
        stage.give(.closed(first))
        #expect(try replayed("a.", &stage).count == 5)
        let second = stage.join()
        for number in 0..<5 {
            #expect(retains(second, "b.t\(number)", &stage))
            // Room is made before the new event is stored.
            #expect(stage.router.kept <= 40_000)
        }
        #expect(try replayed("", &stage) == ["a.t1", "a.t2", "a.t3", "a.t4", "b.t0", "b.t1", "b.t2", "b.t3", "b.t4"])
        let third = stage.join()
        for number in 0..<4 { #expect(retains(third, "c.t\(number)", &stage)) }
        #expect(try replayed("a.", &stage).isEmpty)
        // The events of present sessions stay.
        #expect(!retains(third, "c.t4", &stage))
        #expect(try replayed("b.", &stage).count == 5)
        #expect(stage.router.kept <= 40_000)
    }

    @Test func `retained events of sessions that left do not block a SUBSCRIBE, a REGISTER or a testament`() throws {
        var stage = stage { $0.hasMetaAPI = true }
        for _ in 0..<2 {
            let guest = stage.join()
            for number in 0..<5 { let _ = retains(guest, "a.\(guest.number).t\(number)", &stage) }
            stage.give(.closed(guest))
        }
        let client = stage.join()
        for number in 0..<20 {
            let _ = try stage.subscribe(client, "b.s\(number)")
            stage.send(.register(request: stage.next(client), options: [:], procedure: "b.p\(number)"), from: client)
            guard case .registered? = stage.received(client).last else { return #expect(Bool(false), "p\(number) is refused") }
        }
        let arguments = WAMPArguments(["a.t", .array([Self.content]), [:]])
        stage.send(.call(request: stage.next(client), options: [:], procedure: "wamp.session.add_testament", arguments), from: client)
        #expect(stage.received(client).last?.reason == nil)
        #expect(stage.router.kept <= 40_000)
    }

    @Test func `a retained event counts for its last publisher`() throws {
        var stage = stage()
        let (ann, bob) = (stage.join(), stage.join())
        for number in 0..<5 { #expect(retains(ann, "a.t\(number)", &stage)) }
        #expect(retains(bob, "a.t0", &stage) && retains(ann, "a.t5", &stage) && !retains(ann, "a.t6", &stage))
        stage.give(.closed(ann))
        stage.give(.closed(bob))
        #expect(try replayed("a.", &stage) == ["a.t1", "a.t2", "a.t3", "a.t4", "a.t0", "a.t5"])
    }

    @Test func `all realms share one limit, and empty realms are removed first`() throws {
        var stage = stage()
        for realm in ["r1", "r2", "r3"] {
            for _ in 0..<2 {
                let guest = stage.join(realm)
                for number in 0..<5 { let _ = retains(guest, "a.\(guest.number).t\(number)", &stage) }
                stage.give(.closed(guest))
            }
            #expect(stage.router.kept <= 88_000)
        }
        #expect(stage.router.places["r1"] == nil && stage.router.places["r3"] != nil)
        #expect(try !replayed("a.", &stage, realm: "r3").isEmpty)
    }

    @Test func `retained events of sessions that left other realms do not block a client`() throws {
        var stage = stage()
        let client = stage.join("victim")
        for number in 0..<2 { #expect(retains(client, "v.t\(number)", &stage)) }
        for realm in ["r1", "r2", "r3"] {
            let _ = stage.join(realm)
            for _ in 0..<2 {
                let guest = stage.join(realm)
                for number in 0..<5 { let _ = retains(guest, "a.\(guest.number).t\(number)", &stage) }
                stage.give(.closed(guest))
            }
        }
        for number in 0..<3 {
            let _ = try stage.subscribe(client, "b.s\(number)")
            stage.send(.register(request: stage.next(client), options: [:], procedure: "b.p\(number)"), from: client)
            guard case .registered? = stage.received(client).last else { return #expect(Bool(false), "p\(number) is refused") }
        }
        #expect(retains(client, "v.t2", &stage) && stage.router.kept <= 88_000)
        #expect(try replayed("v.", &stage, realm: "victim").count == 3)
    }

    @Test func `subscriptions, registrations and testaments count until they end`() throws {
        var stage = stage { $0.hasMetaAPI = true }
        let client = stage.join()
        let long = String(repeating: "a.", count: 20)
        func refused(_ message: WAMPMessage) -> Bool {
            stage.send(message, from: client)
            return stage.received(client).last?.reason == WAMPURI.Error.unavailable
        }
        var subscriptions: [WAMPID] = []
        for number in 0..<2 { subscriptions.append(try stage.subscribe(client, long + "s\(number)", ["match": "wildcard"])) }
        let register = { (name: String, stage: inout RouterStage) in
            WAMPMessage.register(request: stage.next(client), options: ["match": "wildcard"], procedure: long + name)
        }
        #expect(!refused(register("p0", &stage)) && refused(register("p1", &stage)))
        #expect(refused(.subscribe(request: stage.next(client), options: ["match": "wildcard"], topic: long + "s9")))
        func testament(_ stage: inout RouterStage) -> WAMPMessage {
            let arguments = WAMPArguments(["a.t", .array([Self.content]), [:]])
            return .call(request: stage.next(client), options: [:], procedure: "wamp.session.add_testament", arguments)
        }
        #expect(!refused(testament(&stage)) && refused(testament(&stage)))
        stage.send(
            .call(request: stage.next(client), options: [:], procedure: "wamp.session.flush_testaments", .none), from: client)
        for id in subscriptions { stage.unsubscribe(client, id) }
        #expect((0..<3).map { _ in refused(testament(&stage)) } == [false, false, false])
        stage.give(.closed(client))
        #expect(stage.router.kept == 0)
    }

    @Test func `pending calls beyond the first 64 of a session count until they end`() throws {
        // Each call beyond the first 64 takes 532 bytes.
        var stage = stage {
            $0.maximumKeptBySession = 5 * 532
            $0.maximumKeptByAddress = 8 * 532
        }
        let callee = stage.join()
        stage.send(.register(request: stage.next(callee), options: [:], procedure: "com.app.go"), from: callee)
        let (ann, bob) = (stage.join(from: "1.2.3.4"), stage.join(from: "1.2.3.4"))
        let before = stage.router.kept
        func waits(_ caller: RouterConnection) -> Bool {
            stage.send(.call(request: stage.next(caller), options: [:], procedure: "com.app.go", .none), from: caller)
            return stage.received(caller).last?.reason != WAMPURI.Error.unavailable
        }
        for _ in 0..<64 { #expect(waits(ann) && waits(bob)) }
        #expect(stage.router.kept == before)
        #expect((0..<6).map { _ in waits(ann) } == [true, true, true, true, true, false])
        // The other session of the address gets the rest.
        #expect((0..<4).map { _ in waits(bob) } == [true, true, true, false])
        #expect(stage.router.kept == before + 8 * 532)
        // The second session has room only after all calls of the first are answered.
        let invocations = stage.received(callee).compactMap { message -> WAMPID? in
            if case .invocation(let request, _, _, _) = message { request } else { nil }
        }
        for request in invocations.prefix(133) { stage.send(.yield(request: request, options: [:], .none), from: callee) }
        #expect(stage.received(ann).count { if case .result = $0 { true } else { false } } == 69)
        #expect(stage.router.kept == before + 3 * 532)
        #expect((0..<3).map { _ in waits(bob) } == [true, true, true])
        // Calls also stop counting when the caller leaves.
        stage.give(.closed(bob))
        #expect(stage.router.kept == before && stage.router.holdings.isEmpty)
    }

    @Test func `a testament stops counting when its session ends, and a registration when it is removed`() throws {
        var stage = stage { $0.hasMetaAPI = true }
        let (ann, bob) = (stage.join(), stage.join())
        let before = stage.router.kept
        let arguments = WAMPArguments(["a.t", .array([Self.content]), [:]])
        stage.send(.call(request: stage.next(bob), options: [:], procedure: "wamp.session.add_testament", arguments), from: bob)
        #expect(stage.router.kept > before + 3900)
        stage.give(.closed(bob))
        #expect(stage.router.kept == before)
        stage.send(.register(request: stage.next(ann), options: [:], procedure: "com.app.work"), from: ann)
        guard case .registered(_, let registration)? = stage.received(ann).last else { return #expect(Bool(false), "refused") }
        #expect(stage.router.kept > before)
        stage.send(.unregister(request: stage.next(ann), registration: registration), from: ann)
        #expect(stage.router.kept == before)
    }

    @Test func `a removed realm no longer counts`() throws {
        var stage = stage { $0.maximumRealms = 1 }
        let ann = stage.join("r1")
        #expect(retains(ann, "a.t", &stage))
        stage.give(.closed(ann))
        #expect(stage.router.kept > 0)
        let bob = stage.join("r2")
        #expect(stage.router.kept == 0 && stage.router.places["r1"] == nil)
        stage.give(.closed(bob))
    }

    @Test func `a history that is removed with its subscription no longer counts`() throws {
        var stage = stage {
            $0.historyLength = 10
            $0.maximumHistories = 1
        }
        let (ann, bob) = (stage.join(), stage.join())
        for topic in ["a", "b"] {
            let id = try stage.subscribe(bob, topic)
            for _ in 0..<3 { stage.publish(ann, topic, [:], Self.content) }
            stage.unsubscribe(bob, id)
            // The history of the previous topic was removed.
            #expect(stage.router.kept > 11_000 && stage.router.kept < 14_000, "\(topic)")
        }
    }

    // MARK: Users and addresses

    @Test(arguments: [true, false])
    func `the sessions of a user, or of an address, together store no more than their common limit`(_ isUser: Bool) throws {
        var stage = stage {
            $0.maximumKeptInRealm = 400_000
            $0.maximumKept = 800_000
            ($0.maximumKeptByUser, $0.maximumKeptByAddress) = isUser ? (30_000, .max) : (.max, 30_000)
        }
        func member(_ number: Int, realm: String = "realm1", _ stage: inout RouterStage) -> RouterConnection {
            isUser
                ? stage.join(realm, as: "eve", by: "ticket", from: "10.0.0.\(number)")
                : stage.join(realm, as: "eve\(number)", by: "ticket", from: "10.0.0.1")
        }
        let members = (0..<4).map { member($0, realm: "r\($0)", &stage) }
        let kept = members.map { one in (0..<5).count { retains(one, "a.t\($0)", &stage) } }
        #expect(kept == [5, 1, 0, 0])
        stage.publish(members[3], "a.t", ["retain": true, "acknowledge": true], Self.content)
        guard case .error(_, _, _, _, let arguments)? = stage.received(members[3]).last else { return #expect(Bool(false), "kept") }
        #expect(try arguments.list.first?.string?.contains(isUser ? "this user" : "clients of this address") == true)
        // Another user at another address has its own limit.
        let honest = stage.join("r0", as: "ann", by: "ticket", from: "10.0.1.1")
        #expect((0..<5).allSatisfy { retains(honest, "b.t\($0)", &stage) })
        // The other sessions may use what one of them frees.
        stage.give(.closed(members[0]))
        #expect(retains(members[3], "a.t", &stage))
        for one in members + [honest] { stage.give(.closed(one)) }
        #expect(stage.router.holdings.isEmpty)
    }

    @Test func `the user that left the most data makes room first and cannot displace the data of others`() throws {
        var stage = stage()
        let ann = stage.join(as: "ann", by: "ticket")
        for number in 0..<2 { #expect(retains(ann, "a.t\(number)", &stage)) }
        stage.give(.closed(ann))
        for round in 0..<6 {
            let eve = stage.join(as: "eve", by: "ticket", from: "10.0.0.\(round)")
            for number in 0..<4 { #expect(retains(eve, "e.t\(round).\(number)", &stage)) }
            stage.give(.closed(eve))
            #expect(stage.router.kept <= 40_000)
        }
        #expect(try replayed("a.", &stage) == ["a.t0", "a.t1"])
        // Of its own events the newest remain.
        let left = try replayed("e.", &stage)
        #expect(left.count > 3 && left.last == "e.t5.3" && !left.contains("e.t0.0"))
        // The router still knows how much each user has left.
        let bob = stage.join(as: "bob", by: "ticket")
        for number in 0..<5 { #expect(retains(bob, "b.t\(number)", &stage)) }
        #expect(try replayed("a.", &stage) == ["a.t0", "a.t1"] && stage.router.kept <= 40_000)
    }

    @Test func `a retained event that another user replaces no longer counts for the first user`() throws {
        var stage = stage { $0.maximumKeptByUser = 9000 }
        let (first, second) = (stage.join(as: "eve", by: "ticket"), stage.join(as: "eve", by: "ticket"))
        let ann = stage.join(as: "ann", by: "ticket")
        #expect(retains(first, "a.t0", &stage) && retains(first, "a.t1", &stage) && !retains(second, "a.t2", &stage))
        #expect(retains(ann, "a.t0", &stage) && retains(second, "a.t2", &stage) && !retains(second, "a.t3", &stage))
        for one in [first, second, ann] { stage.give(.closed(one)) }
        #expect(stage.router.holdings.isEmpty)
    }

    @Test func `a revoked subscription no longer counts for its user`() throws {
        var stage = stage()
        let eve = stage.join(as: "eve", by: "ticket", from: "10.0.0.1")
        let id = try stage.subscribe(eve, "a.t")
        #expect(stage.router.holdings.count == 2)
        stage.give(.revoke(realm: "realm1", id: id, reason: "com.app.why"))
        #expect(stage.router.holdings.isEmpty)
    }

    @Test func `unauthenticated names do not share the limit of a user`() throws {
        var stage = stage { $0.maximumKeptByUser = 9000 }
        let guests = (0..<3).map { _ in stage.join(as: "guest") }
        #expect(guests.allSatisfy { one in (0..<2).allSatisfy { retains(one, "a.\(one.number).\($0)", &stage) } })
    }

    @Test func `a testament is published even if it cannot be retained`() throws {
        var stage = stage {
            $0.hasMetaAPI = true
            $0.maximumKeptInRealm = 10_000
        }
        let (ann, bob) = (stage.join(), stage.join())
        let _ = try stage.subscribe(bob, "a.t")
        let arguments = WAMPArguments(
            ["a.t", .array([Self.content]), [:]], keywords: ["publish_options": ["retain": true]])
        stage.send(.call(request: stage.next(ann), options: [:], procedure: "wamp.session.add_testament", arguments), from: ann)
        #expect(retains(bob, "b.t", &stage))
        stage.give(.closed(ann))
        #expect(try stage.events(bob).count == 1)
    }

    @Test func `histories stay within the limit of the realm, and the longest is shortened first`() throws {
        var stage = stage { $0.historyLength = 1000 }
        let (ann, bob) = (stage.join(), stage.join())
        let _ = try stage.subscribe(bob, "a")
        let _ = try stage.subscribe(bob, "b")
        stage.publish(ann, "b", [:], Self.content)
        for _ in 0..<50 { stage.publish(ann, "a", [:], Self.content) }
        #expect(stage.router.kept <= 40_000 && stage.router.kept > 22_000)
        let lengths = try #require(stage.router.realms[0]).broker.subscriptions.values.map { $0.history(1000).count }.sorted()
        #expect(lengths[0] == 1 && lengths[1] > 3 && lengths[1] < 10)
        // Histories without subscribers are removed first.
        stage.give(.closed(bob))
        let eve = stage.join()
        let _ = try stage.subscribe(eve, "c")
        for _ in 0..<10 { stage.publish(ann, "c", [:], Self.content) }
        #expect(stage.router.kept <= 40_000)
        stage.give(.closed(ann))
    }
}
