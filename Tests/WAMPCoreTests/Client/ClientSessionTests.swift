import CodecCore
import MachineCore
import ProtocolCore
import Testing
import WebSocketCore

@testable import WAMPCore

@Suite struct ClientSessionTests {
    private func refused(_ reason: String, _ message: String) -> ClientEffect {
        .send(.abort(details: ["message": .text(message)], reason: reason, .none))
    }
    private func dismissed(_ reason: String, _ isRetryable: Bool, _ message: String? = nil) -> ClientEffect {
        .drop(.dismissed(reason: reason, message: message, isRetryable: isRetryable))
    }

    // MARK: Joining

    @Test func `the first message is HELLO with four roles and the features of this library`() throws {
        var bench = ClientBench()
        bench.handle(.open)
        guard case .hello("realm1", let details)? = bench.sent().first else { return #expect(Bool(false), "no hello") }
        #expect(details["roles"]?.entries?.map(\.key) == ["publisher", "subscriber", "caller", "callee"])
        #expect(details["roles"]?["caller"]?["features"]?["call_canceling"] == true)
        #expect(details["roles"]?["callee"]?["features"]?["progressive_call_results"] == true)
        #expect(details["roles"]?["callee"]?["features"]?["call_timeout"] == nil, "the client enforces the timeout, not the callee")
        #expect(details["agent"] == "holdfast")
        #expect(details.entries.count == 2, "options that are not set are not sent")
    }

    @Test func `HELLO has the authid, the role, the authentication methods and the agent`() {
        var bench = ClientBench(
            policy: ClientPolicy(
                realm: "realm1", authID: "joe", authRole: "user", authMethods: ["scram", "ticket"], agent: "me"))
        bench.handle(.opened(["nonce": "abc"]))
        guard case .hello(_, let details)? = bench.sent().first else { return #expect(Bool(false), "no hello") }
        #expect(details["authid"] == "joe")
        #expect(details["authrole"] == "user")
        #expect(details["authmethods"] == ["scram", "ticket"])
        #expect(details["authextra"] == ["nonce": "abc"])
        #expect(details["agent"] == "me")
    }

    @Test func `WELCOME joins and reports the identity and the features of the router`() {
        var bench = ClientBench()
        var details = ClientBench.everything
        (details["authid"], details["authrole"], details["authmethod"]) = ("joe", "user", "ticket")
        bench.join(details)
        let joined = JoinedSession(
            id: 9, realm: "realm1", authID: "joe", authRole: "user", authMethod: "ticket",
            brokerFeatures: ["pattern_based_subscription", "event_history"],
            dealerFeatures: [
                "call_canceling", "call_timeout", "progressive_call_results", "progressive_call_invocations", "pattern_based_registration",
                "shared_registration",
            ], details: details)
        #expect(bench.news() == [.joined(joined)])
        #expect(bench.machine.deadline == nil)
    }

    @Test func `the app answers a challenge`() {
        var bench = ClientBench(policy: ClientPolicy(realm: "realm1", authMethods: ["ticket"]))
        bench.handle(.open)
        _ = bench.look()
        bench.receive(.challenge(method: "ticket", extra: ["a": 1]))
        let handle = ClientHandle(1 << 63)
        #expect(bench.look() == [.event(.challenged(handle, method: "ticket", extra: ["a": 1]))])
        bench.handle(.proven(99, signature: "another's", extra: [:]))
        #expect(bench.look() == [])
        bench.handle(.proven(handle, signature: "secret", extra: [:]))
        #expect(bench.sent() == [.authenticate(signature: "secret", extra: [:])])
        bench.receive(.welcome(session: 1, details: [:]))
        #expect(bench.news().count == 1)
    }

    @Test func `a challenge by a method that was not offered is a violation, so that no ticket replaces a signature`() {
        var bench = ClientBench(policy: ClientPolicy(realm: "realm1", authMethods: ["cryptosign"]))
        bench.handle(.open)
        _ = bench.look()
        bench.receive(.challenge(method: "ticket", extra: [:]))
        let text = "CHALLENGE by a method that was not offered"
        #expect(bench.look() == [refused("wamp.error.protocol_violation", text), .drop(.violation(text))])
    }

    @Test func `a second challenge on a connection is a violation: each answer reveals more about a password`() {
        for method in ["wampcra", "ticket"] {
            var bench = ClientBench(policy: ClientPolicy(realm: "realm1", authMethods: ["wampcra", "ticket"]))
            for _ in 0..<2 {
                bench.handle(.lost, .open)
                bench.receive(.challenge(method: "wampcra", extra: ["challenge": "c"]))
                bench.handle(.proven(ClientHandle(bench.machine.lastHandle - 1), signature: "s", extra: [:]))
                #expect(bench.sent().last == .authenticate(signature: "s", extra: [:]))
                bench.receive(.challenge(method: method, extra: [:]))
                let text = "a second CHALLENGE"
                #expect(bench.look() == [refused("wamp.error.protocol_violation", text), .drop(.violation(text))])
            }
        }
    }

    @Test func `without a proof the client aborts and does not tell the router the cause`() {
        var bench = ClientBench(policy: ClientPolicy(realm: "realm1", authMethods: ["ticket"]))
        bench.handle(.open)
        bench.receive(.challenge(method: "ticket", extra: [:]))
        _ = bench.look()
        bench.handle(.unproven(ClientHandle(1 << 63), "the key chain is locked"))
        #expect(bench.look() == [refused("wamp.error.authentication_failed", "no proof"), .drop(.unproven("the key chain is locked"))])
        bench.handle(.lost)
        bench.handle(.open)
        #expect(bench.sent().count == 1, "the next connection may succeed")
    }

    @Test func `the end of a connection tells the router the reason, and the client reconnects where that can help`() {
        let others: [(ClientEnding, CloseCode)] = [
            (.unproven("x"), .normal), (.joinTimedOut, .normal), (.dismissed(reason: "x", message: nil, isRetryable: true), .normal),
        ]
        for (ending, code) in others {
            guard case .reconnect(.zero, code, _) = ending.connectionEnd else { return #expect(Bool(false), "\(ending)") }
        }
        let killed = ClientEnding.dismissed(reason: WAMPURI.Close.killed, message: nil, isRetryable: true)
        #expect(killed.connectionEnd == .reject(.normal, reason: "the session was killed"))
        #expect(ClientEnding.violation("x").connectionEnd == .reject(.protocolError, reason: "the router broke the protocol"))
        for ending in [
            ClientEnding.left, .untrustedServer, .unproven("x", isRetryable: false),
            .dismissed(reason: "x", message: nil, isRetryable: false),
        ] { #expect(ending.connectionEnd == .stop) }
    }

    @Test func `a permanent failure to prove the identity ends the client`() {
        var bench = ClientBench(policy: ClientPolicy(realm: "realm1", authMethods: ["ticket"]))
        bench.handle(.call(1))
        bench.handle(.open)
        bench.receive(.challenge(method: "ticket", extra: [:]))
        _ = bench.look()
        bench.handle(.unproven(ClientHandle(1 << 63), "no such key", isHopeless: true))
        let ending = ClientEnding.unproven("no such key", isRetryable: false)
        #expect(ending.connectionEnd == .stop)
        #expect(bench.look() == [refused("wamp.error.authentication_failed", "no proof"), .drop(ending), .failed(1, .ended)])
    }

    @Test(arguments: ["scram", "wamp-scram"])
    func `after SCRAM the client joins only if the router's signature is genuine`(method: String) {
        var bench = ClientBench(policy: ClientPolicy(realm: "realm1", authMethods: [method, "ticket"]))
        for isGenuine in [true, false] {
            bench.handle(.lost, .open)
            bench.receive(.challenge(method: method, extra: [:]))
            let prover = bench.machine.lastHandle - 1
            bench.handle(.proven(ClientHandle(prover), signature: "s", extra: [:]))
            _ = bench.look()
            bench.receive(.welcome(session: 1, details: ["authextra": ["verifier": "v"]]))
            let handle = ClientHandle(prover + 1)
            #expect(bench.look() == [.event(.welcomed(handle, details: ["authextra": ["verifier": "v"]]))])
            bench.handle(.checked(handle, isGenuine: isGenuine))
            if isGenuine {
                guard case .joined? = bench.news().first else { return #expect(Bool(false), "not joined") }
            } else {
                #expect(
                    bench.look() == [refused("wamp.error.authentication_failed", "the router's proof is wrong"), .drop(.untrustedServer)])
            }
        }
    }

    @Test func `a router that does not challenge a client which offers only SCRAM is not genuine`() {
        var bench = ClientBench(policy: ClientPolicy(realm: "realm1", authMethods: ["scram"]))
        bench.join()
        #expect(bench.look().last == .drop(.untrustedServer))
    }

    @Test func `a client that is not welcomed in time aborts and may retry`() {
        var bench = ClientBench()
        bench.handle(.open)
        _ = bench.look()
        bench.pass(.milliseconds(9999))
        #expect(bench.look() == [])
        bench.pass(.milliseconds(1))
        #expect(bench.look() == [refused("wamp.error.timeout", "joining took too long"), .drop(.joinTimedOut)])
    }

    // MARK: Ends by the router

    @Test(arguments: [
        ("wamp.error.no_such_realm", false), ("wamp.error.no_matching_auth_method", false), ("wamp.error.no_auth_method", false),
        ("wamp.error.not_authorized", false), ("wamp.error.authentication_failed", false), ("wamp.error.authentication_denied", false),
        ("wamp.close.system_shutdown", true), ("wamp.error.authorization_failed", true), ("com.acme.busy", true),
    ])
    func `the URI of ABORT tells whether a retry can help, and ABORT is never answered`(reason: String, isRetryable: Bool) {
        var bench = ClientBench()
        bench.handle(.open)
        _ = bench.look()
        bench.receive(.abort(details: ["message": "no"], reason: reason, .none))
        #expect(bench.look() == [dismissed(reason, isRetryable, "no")])
        bench.handle(.lost, .open)
        #expect(bench.look().count == 1)
    }

    @Test func `after an error without a retry all pending requests end`() {
        var bench = ClientBench()
        bench.handle(.call(1), .listen(2), .offer(3))
        bench.handle(.open)
        _ = bench.look()
        bench.receive(.abort(details: [:], reason: "wamp.error.no_such_realm", .none))
        #expect(
            bench.look() == [dismissed("wamp.error.no_such_realm", false), .failed(1, .ended), .failed(2, .ended), .failed(3, .ended)])
        #expect(bench.machine.deadline == nil)
        bench.handle(.call(4))
        #expect(bench.look() == [.failed(4, .ended)])
        bench.handle(.open)
        #expect(bench.look() == [dismissed("wamp.error.no_such_realm", false)])
    }

    @Test(arguments: ["wamp.close.system_shutdown", "wamp.close.killed", "wamp.close.normal", "com.acme.closing"])
    func `a GOODBYE of the router is echoed, whatever its reason, and the client closes the connection`(reason: String) {
        var bench = ClientBench.joined()
        bench.receive(.goodbye(details: ["message": "bye"], reason: reason, .none))
        #expect(
            bench.look() == [
                .send(.goodbye(details: [:], reason: "wamp.close.goodbye_and_out", .none)), .event(.parted), dismissed(reason, true, "bye"),
            ])
        bench.receive(.anEvent(1, 1), .welcome(session: 1, details: [:]))
        #expect(bench.look() == [], "the client ignores everything until the connection has ended")
    }

    @Test func `a router that does not answer GOODBYE is left after a short time`() {
        var bench = ClientBench.joined()
        bench.handle(.leave(reason: "wamp.close.close_realm"))
        _ = bench.look()
        bench.pass(.milliseconds(1999))
        #expect(bench.look() == [])
        bench.pass(.milliseconds(1))
        #expect(bench.look() == [.drop(.left)])
    }

    @Test func `an ABORT after joining is not answered`() {
        var bench = ClientBench.joined()
        bench.receive(.abort(details: [:], reason: "wamp.error.protocol_violation", .none))
        #expect(bench.look() == [.event(.parted), dismissed("wamp.error.protocol_violation", true)])
    }

    // MARK: Violations

    @Test(arguments: [
        WAMPMessage.welcome(session: 1, details: [:]), .challenge(method: "ticket", extra: [:]), .hello(realm: "r", details: [:]),
        .authenticate(signature: "", extra: [:]), .publish(request: 1, options: [:], topic: "a", .none),
        .unregister(request: 1, registration: 1),
        .subscribe(request: 1, options: [:], topic: "a"), .unsubscribe(request: 1, subscription: 1), .cancel(request: 1, options: [:]),
        .call(request: 1, options: [:], procedure: "a", .none), .register(request: 1, options: [:], procedure: "a"),
        .yield(request: 1, options: [:], .none),
    ])
    func `a message that is not allowed within a session is answered with ABORT`(message: WAMPMessage) {
        var bench = ClientBench.joined()
        bench.receive(message)
        #expect(bench.look() == ClientEffect.violation("\(message.name) within a session"))
    }

    @Test(arguments: [
        WAMPMessage.goodbye(details: [:], reason: "wamp.close.normal", .none), .aResult(1), .anEvent(1, 1), .anInvocation(1, 1),
        .aRefusal(.call, 1, "wamp.error.canceled"), .subscribed(request: 1, subscription: 1), .published(request: 1, publication: 1),
        .registered(request: 1, registration: 1), .unsubscribed(request: 1, details: [:]), .unregistered(request: 1, details: [:]),
        .interrupt(request: 1, options: [:]),
    ])
    func `a message that needs a session is answered with ABORT before joining`(message: WAMPMessage) {
        var bench = ClientBench()
        bench.handle(.open)
        _ = bench.look()
        bench.receive(message)
        let text = "\(message.name) before the session has joined"
        #expect(bench.look() == [refused("wamp.error.protocol_violation", text), .drop(.violation(text))])
    }

    @Test func `an unreadable message is a violation`() {
        for isJoined in [true, false] {
            var bench = isJoined ? ClientBench.joined() : ClientBench()
            if !isJoined { bench.handle(.open) }
            _ = bench.look()
            bench.handle(.undecodable("no message"))
            let effects = bench.look()
            guard case .send(.abort(_, "wamp.error.protocol_violation", _))? = effects.first,
                case .event(.ended(.violation))? = effects.last
            else {
                return #expect(Bool(false), "\(effects)")
            }
        }
    }

    @Test func `an answer without a matching request, and an ERROR of an INVOCATION, are violations`() {
        let messages: [WAMPMessage] = [
            .aResult(2), .aResult(0), .aRefusal(.call, 2, "a.b"), .subscribed(request: 1, subscription: 1), .aRefusal(.subscribe, 1, "a.b"),
            .aRefusal(.invocation, 1, "a.b"), .published(request: 1, publication: 1), .unregistered(request: 1, details: [:]),
        ]
        for message in messages {
            var bench = ClientBench.joined()
            bench.handle(.call(1))
            _ = bench.look()
            bench.receive(message)
            let effects = bench.look()
            guard case .send(.abort(_, "wamp.error.protocol_violation", _))? = effects.first else {
                return #expect(Bool(false), "\(message): \(effects)")
            }
            #expect(effects.last == .failed(1, .connectionLost(wasSent: true)), "the call ends with the session")
        }
    }

    // MARK: Leaving

    @Test func `leaving sends GOODBYE, ends all pending requests, and then the connection`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1), .listen(2), .offer(3))
        _ = bench.look()
        bench.handle(.leave(reason: "wamp.close.close_realm"))
        #expect(
            bench.look() == [
                .send(.goodbye(details: [:], reason: "wamp.close.close_realm", .none)), .event(.parted), .failed(1, .ended),
                .failed(2, .ended), .failed(3, .ended),
            ])
        bench.receive(.aResult(1), .subscribed(request: 2, subscription: 5))
        #expect(bench.look() == [], "what arrives while leaving is ignored")
        bench.receive(.goodbye(details: [:], reason: "wamp.close.normal", .none))
        #expect(bench.look() == [.drop(.left)])
        bench.handle(.leave(reason: "wamp.close.close_realm"))
        #expect(bench.look() == [])
    }

    @Test func `leaving ends without an answer to GOODBYE`() {
        var bench = ClientBench.joined()
        bench.handle(.leave(reason: "wamp.close.close_realm"))
        _ = bench.look()
        bench.pass(.seconds(10))
        #expect(bench.look() == [.drop(.left)])
    }

    @Test func `a client that leaves before it has joined does not reconnect`() {
        var bench = ClientBench()
        bench.handle(.leave(reason: "wamp.close.close_realm"))
        #expect(bench.look() == [.drop(.left)])
        bench.handle(.open)
        #expect(bench.look() == [.drop(.left)])

        var joining = ClientBench()
        joining.handle(.open)
        _ = joining.look()
        joining.handle(.leave(reason: "wamp.close.close_realm"))
        #expect(joining.look() == [refused("wamp.close.close_realm", "the client leaves"), .drop(.left)])
    }

    @Test func `a connection lost while leaving is not reopened`() {
        var bench = ClientBench.joined()
        bench.handle(.leave(reason: "wamp.close.close_realm"))
        _ = bench.look()
        bench.handle(.lost)
        #expect(bench.look() == [.drop(.left)])
    }

    @Test func `no HELLO is sent on a new connection while leaving`() {
        var bench = ClientBench.joined()
        bench.handle(.leave(reason: "wamp.close.close_realm"))
        _ = bench.look()
        bench.handle(.open)
        #expect(bench.look() == [.drop(.left)])
    }
}
