import CodecCore
import MachineCore
import Testing

@testable import WAMPCore

/// WAMP, "Session Establishment" and "Authentication".
@Suite struct RouterJoiningTests {
    private var stage = RouterStage()
    private let hello = WAMPMessage.hello(realm: "realm1", details: ["roles": RouterStage.roles, "authmethods": ["ticket"], "later": 7])

    @Test("the authenticator gets the whole HELLO, which is answered after the verdict") mutating func examination() throws {
        let client = stage.open()
        stage.send(hello, from: client)
        guard case .hello(realm: "realm1", let details)? = stage.examined.last?.credentials else { Issue.record("not examined"); return }
        #expect(details["authmethods"] == ["ticket"] && details["later"] == 7)
        #expect(stage.received(client).isEmpty)
        stage.give(
            .examined(client, .accepted(RouterPrincipal(authID: "ann", authRole: "user", authMethod: "ticket", authProvider: "file"))))
        let answer = stage.received(client)
        guard case .welcome(let session, let welcome)? = answer.first, answer.count == 1 else { Issue.record("\(answer)"); return }
        #expect(session >= 1 && session <= .largestWAMPID)
        #expect(welcome["realm"] == "realm1" && welcome["authid"] == "ann" && welcome["authrole"] == "user")
        #expect(welcome["authmethod"] == "ticket" && welcome["authprovider"] == "file" && welcome["agent"] == "holdfast")
        #expect(welcome["roles"]?["broker"]?["features"]?["pattern_based_subscription"] == true)
        #expect(welcome["roles"]?["dealer"]?["features"]?["call_canceling"] == true)
        #expect(stage.news == [.joined(session, realm: "realm1", authID: "ann", authRole: "user")])
        stage.pass(.seconds(3600))
        #expect(stage.closed.isEmpty)
    }

    @Test("the router does not announce disabled features") mutating func features() throws {
        func features(_ policy: RouterPolicy, _ role: String) throws -> Value {
            var stage = RouterStage(policy)
            let client = stage.open()
            stage.give(.received(client, hello), .examined(client, .accepted(RouterPrincipal())))
            guard case .welcome(_, let details)? = stage.received(client).first else { throw RouterStage.Surprise(message: hello) }
            return try #require(details["roles"]?[role]?["features"])
        }
        #expect(try features(RouterPolicy(), "broker")["event_history"] == nil)
        #expect(try features(RouterPolicy(historyLength: 1), "broker")["event_history"] == true)
        #expect(try features(RouterPolicy(hasMetaAPI: false, historyLength: 1), "broker")["event_history"] == nil)
        #expect(try features(RouterPolicy(hasMetaAPI: false), "dealer")["testament_meta_api"] == nil)
        #expect(try features(RouterPolicy(), "dealer")["testament_meta_api"] == true)
        #expect(try features(RouterPolicy(quirks: .crossbar), "dealer")["call_timeout"] == nil)
        #expect(try features(RouterPolicy(quirks: .nexus), "broker")["subscription_revocation"] == nil)
    }

    @Test("an anonymous client gets a random authid, and session ids differ") mutating func names() throws {
        let (one, other) = (stage.join(), stage.join())
        let names = [one, other].map { stage.router.peers[$0]?.session?.participant.authID }
        #expect(names[0] != nil && names[0] != names[1])
        #expect(try stage.session(of: one) != stage.session(of: other))
    }

    @Test(
        "an authid or role with an invisible character is refused",
        arguments: ["ann\u{202E}", "a\u{200B}nn", "an\u{0}n", "ann\u{E0041}"])
    mutating func hidden(_ text: String) {
        for principal in [RouterPrincipal(authID: text), RouterPrincipal(authID: "ann", authRole: text)] {
            let client = stage.open()
            stage.send(hello, from: client)
            stage.give(.examined(client, .accepted(principal)))
            guard case .abort(let details, WAMPURI.Error.authenticationFailed, _)? = stage.received(client).last else {
                Issue.record("welcome")
                return
            }
            #expect(details["message"]?.string?.contains("U+") == true && stage.closed[client] == .goodbye)
        }
        #expect(stage.router.sessionCount == 0)
    }

    @Test("the answer to a challenge is examined") mutating func challenge() {
        let client = stage.open()
        stage.send(hello, from: client)
        stage.give(.examined(client, .challenged(method: "wampcra", extra: ["challenge": "x"])))
        #expect(stage.received(client) == [.challenge(method: "wampcra", extra: ["challenge": "x"])])
        stage.send(.authenticate(signature: "s", extra: ["a": 1]), from: client)
        #expect(stage.examined.last?.credentials == .answer(signature: "s", extra: ["a": 1]))
        stage.give(.examined(client, .accepted(RouterPrincipal(authID: "ann"))))
        #expect(stage.received(client).map(\.type) == [2])
    }

    @Test("a wrong answer is refused with a reason, and the connection ends") mutating func wrongAnswer() {
        let client = stage.open()
        stage.send(hello, from: client)
        stage.give(.examined(client, .challenged(method: "ticket", extra: [:])))
        stage.send(.authenticate(signature: "wrong", extra: [:]), from: client)
        stage.give(.examined(client, .refused(reason: WAMPURI.Error.authenticationDenied, message: "no such ticket")))
        let abort = WAMPMessage.abort(details: ["message": "no such ticket"], reason: WAMPURI.Error.authenticationDenied, .none)
        #expect(stage.received(client).last == abort)
        #expect(stage.closed[client] == .goodbye && stage.news == [.refused(client, reason: WAMPURI.Error.authenticationDenied)])
        #expect(stage.router.isEmpty)
    }

    @Test("an unknown realm is refused before authentication") mutating func realms() {
        stage = RouterStage(RouterPolicy(realms: ["realm2"]))
        let client = stage.open()
        stage.send(hello, from: client)
        #expect(stage.examined.isEmpty && stage.received(client).map(\.reason) == [WAMPURI.Error.noSuchRealm])
        #expect(stage.closed[client] == .goodbye && stage.router.isEmpty)
    }

    @Test("the number of dynamic realms is limited") mutating func tooManyRealms() {
        stage = RouterStage(RouterPolicy(maximumRealms: 2))
        let first = stage.join("a")
        let _ = (stage.join("b"), stage.join("a"))
        let client = stage.open()
        stage.send(.hello(realm: "c", details: ["roles": RouterStage.roles]), from: client)
        // There may be room later, so the refusal is retryable.
        #expect(stage.received(client).map(\.reason) == [WAMPURI.Error.unavailable])
        // Realm a still has a session, so another client may join it.
        stage.give(.closed(first))
        let late = stage.open()
        stage.send(.hello(realm: "a", details: ["roles": RouterStage.roles]), from: late)
        #expect(stage.examined.last?.connection == late)
    }

    @Test("an empty realm is removed for a new one, the one left first before others") mutating func forsakenRealms() throws {
        stage = RouterStage(RouterPolicy(maximumRealms: 3))
        let guests = ["a", "b", "c"].map { stage.join($0) }
        for guest in guests { stage.publish(guest, "kept", ["retain": true]) }
        // A realm with a retained event outlives its sessions.
        for guest in [guests[1], guests[0]] { stage.give(.closed(guest)) }
        #expect(stage.router.places.keys.sorted() == ["a", "b", "c"])
        _ = stage.join("d")
        #expect(stage.router.places.keys.sorted() == ["a", "c", "d"])
        _ = stage.join("e")
        #expect(stage.router.places.keys.sorted() == ["c", "d", "e"])
        // Now each realm has a session.
        let client = stage.open()
        stage.send(.hello(realm: "f", details: ["roles": RouterStage.roles]), from: client)
        #expect(stage.received(client).map(\.reason) == [WAMPURI.Error.unavailable])
        // A client that comes back finds its realm empty.
        stage.give(.closed(guests[2]))
        let late = stage.join("a")
        #expect(stage.router.places.keys.sorted() == ["a", "d", "e"])
        _ = try stage.subscribe(late, "kept", ["get_retained": true])
        #expect(try stage.events(late).isEmpty)
    }

    @Test("the clients of an address create a limited number of realms and replace only their own") mutating func realmsOfAnAddress() {
        stage = RouterStage(RouterPolicy(maximumRealms: 4, maximumRealmsByAddress: 2))
        let honest = stage.join("honest", from: "1.1.1.1")
        stage.publish(honest, "kept", ["retain": true])
        stage.give(.closed(honest))
        let guests = ["a", "b"].map { stage.join($0, from: "6.6.6.6") }
        let client = stage.open(from: "6.6.6.6")
        stage.send(.hello(realm: "c", details: ["roles": RouterStage.roles]), from: client)
        #expect(stage.received(client).map(\.reason) == [WAMPURI.Error.unavailable])
        // An existing realm can be joined, and another address creates its own.
        _ = (stage.join("b", from: "6.6.6.6"), stage.join("d", from: "2.2.2.2"))
        stage.publish(guests[0], "kept", ["retain": true])
        stage.give(.closed(guests[0]))
        _ = stage.join("c", from: "6.6.6.6")
        #expect(stage.router.places.keys.sorted() == ["b", "c", "d", "honest"])
    }

    @Test("the address that has left most realms behind loses one first") mutating func heaviestRealms() {
        stage = RouterStage(RouterPolicy(maximumRealms: 4))
        for (realm, address) in [("honest", "1.1.1.1"), ("a", "6.6.6.6"), ("b", "6.6.6.6"), ("c", "6.6.6.6")] {
            let guest = stage.join(realm, from: address)
            stage.publish(guest, "kept", ["retain": true])
            stage.give(.closed(guest))
        }
        _ = stage.join("d", from: "2.2.2.2")
        #expect(stage.router.places.keys.sorted() == ["b", "c", "d", "honest"])
    }

    @Test("configured realms stay, with or without sessions") mutating func namedRealms() throws {
        stage = RouterStage(RouterPolicy(realms: ["a", "b"], maximumRealms: 1))
        let guest = stage.join("a")
        stage.publish(guest, "kept", ["retain": true])
        stage.give(.closed(guest))
        _ = stage.join("b")
        let late = stage.join("a")
        _ = try stage.subscribe(late, "kept", ["get_retained": true])
        #expect(try stage.events(late).count == 1)
    }

    @Test(
        "HELLO without a known role is a violation", arguments: [[:], ["roles": [:]], ["roles": 7], ["roles": ["cook": [:]]]] as [Value])
    mutating func roles(details: Value) throws {
        let client = stage.open()
        stage.send(.hello(realm: "realm1", details: try #require(details.entries)), from: client)
        #expect(stage.received(client).map(\.reason) == [WAMPURI.Error.protocolViolation] && stage.closed[client] == .violation)
    }

    @Test("a client that does not join in time is dropped", arguments: 0...2) mutating func patience(step: Int) {
        let client = stage.open()
        if step > 0 { stage.send(hello, from: client) }
        if step > 1 { stage.give(.examined(client, .challenged(method: "ticket", extra: [:]))) }
        stage.pass(.milliseconds(9999))
        #expect(stage.closed.isEmpty)
        stage.pass(.milliseconds(1))
        #expect(stage.closed[client] == .goodbye && stage.received(client).last?.reason == WAMPURI.Error.timeout)
        // The verdict is too late.
        stage.give(.examined(client, .accepted(RouterPrincipal())))
        #expect(stage.received(client).isEmpty && stage.router.isEmpty)
    }

    @Test("an unexpected verdict changes nothing") mutating func verdicts() {
        let client = stage.join()
        stage.give(.examined(client, .refused(reason: "x", message: "")), .examined(RouterConnection(99), .accepted(RouterPrincipal())))
        #expect(stage.received(client).isEmpty && stage.closed.isEmpty)
        let silent = stage.open()
        stage.give(.examined(silent, .accepted(RouterPrincipal())))
        #expect(stage.received(silent).isEmpty && stage.router.sessionCount == 1)
    }

    @Test("a client that aborts while it joins gets no answer") mutating func abort() {
        let client = stage.open()
        stage.send(hello, from: client)
        stage.send(.abort(details: [:], reason: "com.app.no", .none), from: client)
        #expect(stage.received(client).isEmpty && stage.closed[client] == .goodbye && stage.router.isEmpty)
    }
}
