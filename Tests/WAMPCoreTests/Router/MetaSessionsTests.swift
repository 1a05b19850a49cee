import CodecCore
import MachineCore
import Testing

@testable import WAMPCore

@Suite("Meta API: sessions")
struct MetaSessionsTests {
    @Test("sessions of the realm are counted and listed, all or by role")
    func listing() {
        var stage = MetaStage()
        let (one, two) = (stage.join(1), stage.join(2, as: "admin"))
        _ = stage.join(3, realm: "elsewhere")
        #expect(stage.ask("wamp.session.count", by: one) == .result([2]))
        #expect(stage.ask("wamp.session.count", [["admin", "nobody"]], by: one) == .result([1]))
        #expect(stage.ask("wamp.session.list", [["admin"]], by: one) == .result([[stage.id(two)]]))
        #expect(
            stage.ask("wamp.session.list", by: one)
                == .result([.array([stage.session(one), stage.session(two)].sorted().map { Value($0) })]))
        for roles: Value in ["admin", [1]] {
            #expect(stage.ask("wamp.session.count", [roles], by: one) == .error(WAMPURI.Error.invalidArgument))
        }
    }

    @Test("the details of a session have its identity and transport; a session of another realm is unknown")
    func details() {
        var stage = MetaStage()
        let (one, two) = (stage.join(1), stage.join(2, as: "admin"))
        let far = stage.join(3, realm: "elsewhere")
        let details: Value = [
            "session": stage.id(two), "authid": "name2", "authrole": "admin", "authmethod": "anonymous", "authprovider": "static",
            "transport": ["peer": "memory"],
        ]
        #expect(stage.ask("wamp.session.get", [stage.id(two)], by: one) == .result([details]))
        #expect(stage.ask("wamp.session.get", [stage.id(far)], by: one) == .error(WAMPURI.Error.noSuchSession))
        for arguments: [Value] in [[], ["one"], [-1], [nil]] {
            #expect(stage.ask("wamp.session.get", arguments, by: one) == .error(WAMPURI.Error.invalidArgument))
        }
    }

    @Test("a killed session gets the reason and is gone")
    func kill() {
        var stage = MetaStage()
        let (one, two) = (stage.join(1), stage.join(2))
        let (answer, effects) = stage.call(
            "wamp.session.kill", [stage.id(two)], ["reason": "com.close.bored", "message": "go"], by: one)
        #expect(answer == .result([]))
        #expect(effects.contains(.send(.goodbye(details: ["message": "go"], reason: "com.close.bored", .none), to: two.connection)))
        #expect(stage.ask("wamp.session.kill", [stage.id(two)], by: one) == .error(WAMPURI.Error.noSuchSession))
        #expect(stage.ask("wamp.session.count", by: one) == .result([1]))
    }

    @Test("a session cannot kill itself, one of another realm, or use an invalid reason")
    func killRefused() {
        var stage = MetaStage()
        let (one, two) = (stage.join(1), stage.join(2))
        let far = stage.join(3, realm: "elsewhere")
        for client in [one, far] {
            #expect(stage.ask("wamp.session.kill", [stage.id(client)], by: one) == .error(WAMPURI.Error.noSuchSession))
        }
        for reason: Value in ["", "not good", 5] {
            #expect(stage.ask("wamp.session.kill", [stage.id(two)], ["reason": reason], by: one) == .error(WAMPURI.Error.invalidURI))
        }
        #expect(stage.ask("wamp.session.kill", [stage.id(two)], ["message": 5], by: one) == .error(WAMPURI.Error.invalidArgument))
        #expect(stage.ask("wamp.session.count", by: one) == .result([2]))
        #expect(stage.ask("wamp.session.count", by: far) == .result([1]))
    }

    @Test("killing needs the router's policy")
    func killForbidden() {
        var stage = MetaStage { $0.allowsKilling = RouterPolicy().allowsKilling }
        let (one, two) = (stage.join(1), stage.join(2))
        for (name, arguments): (String, [Value]) in [
            ("", [stage.id(two)]), ("_by_authid", ["name2"]), ("_by_authrole", ["user"]), ("_all", []),
        ] {
            #expect(stage.ask("wamp.session.kill" + name, arguments, by: one) == .error(WAMPURI.Error.notAuthorized))
        }
        #expect(stage.ask("wamp.session.count", by: one) == .result([2]))
    }

    @Test("sessions are killed by authid, by role, or all except the caller")
    func killMany() {
        var stage = MetaStage()
        let (one, two, three) = (stage.join(1), stage.join(2, as: "admin"), stage.join(3, as: "admin"))
        #expect(stage.ask("wamp.session.kill_by_authid", ["name1"], by: one) == .result([[]]))
        #expect(stage.ask("wamp.session.kill_by_authid", ["name2"], by: one) == .result([[stage.id(two)]]))
        #expect(stage.ask("wamp.session.kill_by_authrole", ["admin"], by: three) == .result([0]))
        let (answer, effects) = stage.call("wamp.session.kill_by_authrole", ["admin"], by: one)
        #expect(answer == .result([1]))
        #expect(effects.contains(.send(.goodbye(details: [:], reason: WAMPURI.Close.killed, .none), to: three.connection)))
        _ = (stage.join(4), stage.join(5))
        #expect(stage.ask("wamp.session.kill_all", by: one) == .result([2]))
        #expect(stage.ask("wamp.session.count", by: one) == .result([1]))
        #expect(stage.ask("wamp.session.kill_by_authid", by: one) == .error(WAMPURI.Error.invalidArgument))
    }

    @Test("joins and leaves are announced to subscribers in the realm")
    func events() {
        var stage = MetaStage()
        let one = stage.join(1)
        let joins = stage.subscribe("wamp.session.on_join", by: one)
        let leaves = stage.subscribe("wamp.session.on_leave", by: one)
        _ = stage.put(.opened(RouterConnection(2), transport: [:]))
        _ = stage.put(.received(RouterConnection(2), .hello(realm: "realm", details: ["roles": ["caller": [:]]])))
        let joining = stage.put(.examined(RouterConnection(2), .accepted(RouterPrincipal(authID: "two", authRole: "role"))))
        let session = Value(stage.sessions[RouterConnection(2)] ?? 0)
        let details: Value = [
            "session": session, "authid": "two", "authrole": "role", "authmethod": "anonymous", "authprovider": "static", "transport": [:],
        ]
        #expect(joining.events(of: joins) == [[details]])
        #expect(stage.put(.closed(RouterConnection(2))).events(of: leaves) == [[session, "two", "role"]])
        _ = stage.join(3, realm: "elsewhere")
        #expect(stage.put(.closed(RouterConnection(3))).events(of: leaves).isEmpty)
    }

    @Test("testaments are published when the session ends, detached ones first, each scope in order")
    func testaments() {
        var stage = MetaStage()
        let (one, two) = (stage.join(1), stage.join(2))
        let topic = stage.subscribe("com.last", by: one)
        for (word, scope) in [("a", "destroyed"), ("b", "detached"), ("c", "destroyed")] {
            #expect(
                stage.ask("wamp.session.add_testament", ["com.last", [.text(word)], [:]], ["scope": .text(scope)], by: two) == .result([]))
        }
        #expect(stage.put(.closed(two.connection)).events(of: topic) == [["b"], ["a"], ["c"]])
    }

    @Test("flushed testaments are not published, those of the other scope are")
    func flush() {
        var stage = MetaStage()
        let (one, two) = (stage.join(1), stage.join(2))
        let topic = stage.subscribe("com.last", by: one)
        _ = stage.ask("wamp.session.add_testament", ["com.last", ["a"]], by: two)
        _ = stage.ask("wamp.session.add_testament", ["com.last", ["b"]], ["scope": "detached"], by: two)
        #expect(stage.ask("wamp.session.flush_testaments", by: two) == .result([]))
        #expect(stage.ask("wamp.session.flush_testaments", [], ["scope": "both"], by: two) == .error(WAMPURI.Error.invalidArgument))
        #expect(stage.put(.closed(two.connection)).events(of: topic) == [["b"]])
    }

    @Test("a testament with an invalid topic is refused, and so is one beyond the limit")
    func testamentRefused() {
        var stage = MetaStage { $0.maximumTestaments = 1 }
        let one = stage.join(1)
        for arguments: [Value] in [[], [5], ["com.last", 5], ["com.last", [], 5]] {
            #expect(stage.ask("wamp.session.add_testament", arguments, by: one) == .error(WAMPURI.Error.invalidArgument), "\(arguments)")
        }
        let options: ValueMap = ["publish_options": ["exclude": 5]]
        #expect(stage.ask("wamp.session.add_testament", ["com.last"], options, by: one) == .error(WAMPURI.Error.invalidArgument))
        #expect(stage.ask("wamp.session.add_testament", ["wamp.session.on_join"], by: one) == .error(WAMPURI.Error.invalidURI))
        #expect(stage.ask("wamp.session.add_testament", ["com.last"], by: one) == .result([]))
        #expect(stage.ask("wamp.session.add_testament", ["com.last"], by: one) == .error(WAMPURI.Error.unavailable))
    }

    @Test("an unknown meta procedure cannot be called or registered")
    func unknown() {
        var stage = MetaStage()
        let one = stage.join(1)
        #expect(stage.ask("wamp.session.dance", by: one) == .error(WAMPURI.Error.noSuchProcedure))
        var silent = MetaStage { $0.hasMetaAPI = false }
        let other = silent.join(1)
        #expect(silent.ask("wamp.session.count", by: other) == .error(WAMPURI.Error.noSuchProcedure))
    }

    @Test("meta procedures take no progressive input, and later parts are ignored")
    func parts() {
        var stage = MetaStage()
        let one = stage.join(1)
        let effects = stage.send(one) { .call(request: $0, options: ["progress": true], procedure: "wamp.session.count", .none) }
        #expect(effects.errors == [WAMPURI.Error.featureNotSupported])
        #expect(stage.put(.received(one.connection, .call(request: 1, options: [:], procedure: "wamp.session.count", .none))).isEmpty)
        #expect(stage.ask("wamp.session.count", by: one) == .result([1]))
    }
}
