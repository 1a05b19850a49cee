import CodecCore
import MachineCore
import Testing

@testable import WAMPCore

/// WAMP, "Protocol Violations".
@Suite struct RouterStrictnessTests {
    private var stage = RouterStage()

    private mutating func expectViolation(_ client: RouterConnection, _ comment: String = "") {
        #expect(stage.received(client).last?.reason == WAMPURI.Error.protocolViolation, "\(comment)")
        #expect(stage.closed[client] == .violation, "\(comment)")
        guard case .violation(client, _)? = stage.news.last(where: { if case .violation = $0 { true } else { false } }) else {
            Issue.record("no news of a violation: \(comment)")
            return
        }
        // Later messages get no answer.
        stage.send(.publish(request: 1, options: ["acknowledge": true], topic: "a", .none), from: client)
        #expect(stage.received(client).isEmpty, "\(comment)")
    }

    private static let late: [WAMPMessage] = [
        .hello(realm: "realm1", details: ["roles": RouterStage.roles]), .welcome(session: 1, details: [:]),
        .challenge(method: "ticket", extra: [:]), .authenticate(signature: "", extra: [:]), .published(request: 1, publication: 1),
        .subscribed(request: 1, subscription: 1), .unsubscribed(request: 1, details: [:]),
        .event(subscription: 1, publication: 1, details: [:], .none), .result(request: 1, details: [:], .none),
        .registered(request: 1, registration: 1), .unregistered(request: 1, details: [:]),
        .invocation(request: 1, registration: 1, details: [:], .none), .interrupt(request: 1, options: [:]),
        .error(.call, request: 1, details: [:], uri: "a.b", .none), .error(.subscribe, request: 1, details: [:], uri: "a.b", .none),
    ]

    @Test("a message that a joined client may not send is a violation", arguments: late)
    mutating func outOfPlace(message: WAMPMessage) {
        let client = stage.join()
        stage.send(message, from: client)
        expectViolation(client)
        #expect(stage.router.isEmpty)
    }

    @Test(
        "a message before HELLO or out of order is a violation",
        arguments: [
            .welcome(session: 1, details: [:]), .goodbye(details: [:], reason: "wamp.close.normal", .none),
            .authenticate(signature: "", extra: [:]), .publish(request: 1, options: [:], topic: "a", .none),
            .subscribe(request: 1, options: [:], topic: "a"), .call(request: 1, options: [:], procedure: "a", .none),
            .error(.invocation, request: 1, details: [:], uri: "a", .none), .yield(request: 1, options: [:], .none),
        ] as [WAMPMessage])
    mutating func early(message: WAMPMessage) {
        for step in 0...2 {
            let client = stage.open()
            if step > 0 { stage.send(.hello(realm: "realm1", details: ["roles": RouterStage.roles]), from: client) }
            if step > 1 { stage.give(.examined(client, .challenged(method: "ticket", extra: [:]))) }
            // A message that answers a challenge.
            if step == 2, message.type == 5 { continue }
            stage.send(message, from: client)
            expectViolation(client, "in step \(step)")
        }
    }

    @Test("a second HELLO is a violation, also while the first is examined") mutating func hellos() {
        let client = stage.open()
        for _ in 0..<2 { stage.send(.hello(realm: "realm1", details: ["roles": RouterStage.roles]), from: client) }
        expectViolation(client)
    }

    @Test("request ids count 1, 2, 3 across all kinds, and any other id is a violation", arguments: [0, 1, 2, 4, 1 << 53])
    mutating func ids(id: WAMPID) {
        let client = stage.join()
        stage.send(.subscribe(request: 1, options: [:], topic: "a"), from: client)
        stage.send(.publish(request: 2, options: ["acknowledge": true], topic: "a", .none), from: client)
        #expect(stage.received(client).map(\.type) == [33, 17])
        stage.send(.unsubscribe(request: id, subscription: 1), from: client)
        expectViolation(client)
    }

    @Test("the id after the largest is 1") mutating func wrap() {
        let client = stage.join()
        stage.router.peers[client]?.session?.lastRequest = .largestWAMPID - 1
        for request in [.largestWAMPID, 1, 2] as [WAMPID] {
            stage.send(.publish(request: request, options: ["acknowledge": true], topic: "a", .none), from: client)
        }
        #expect(stage.received(client).map(\.type) == [17, 17, 17])
    }

    @Test("with a quirk of other routers any request id is accepted") mutating func lenience() {
        stage = RouterStage(RouterPolicy(quirks: .crossbar))
        let client = stage.join()
        for request in [7, 7, 0, 3] as [WAMPID] {
            stage.send(.publish(request: request, options: ["acknowledge": true], topic: "a", .none), from: client)
        }
        #expect(stage.received(client).map(\.type) == [17, 17, 17, 17] && stage.closed.isEmpty)
    }

    @Test("an undecodable message is a violation, before and after joining") mutating func garbage() {
        let (stranger, client) = (stage.open(), stage.join())
        for connection in [stranger, client] {
            stage.give(.undecodable(connection, WAMPFormatError(.noMessage)))
            expectViolation(connection)
        }
        #expect(stage.router.isEmpty)
    }

    @Test(
        "an option of the wrong type is a violation",
        arguments: [
            ["acknowledge": 1], ["exclude_me": "no"], ["retain": nil], ["disclose_me": []], ["exclude": 7], ["exclude": ["x"]],
            ["eligible": [0]], ["eligible_authid": [1]], ["exclude_authrole": "admin"], ["eligible": [-4]],
        ] as [Value])
    mutating func options(options: Value) throws {
        let client = stage.join()
        stage.publish(client, "a", try #require(options.entries))
        expectViolation(client)
    }

    @Test("a SUBSCRIBE option of the wrong type is a violation", arguments: [["match": 1], ["get_retained": "yes"]] as [Value])
    mutating func subscriberOptions(options: Value) throws {
        let client = stage.join()
        stage.send(.subscribe(request: 1, options: try #require(options.entries), topic: "a"), from: client)
        expectViolation(client)
    }

    @Test("an unknown match policy is refused and no violation") mutating func unknownMatch() {
        let client = stage.join()
        stage.send(.subscribe(request: 1, options: ["match": "regex"], topic: "a"), from: client)
        #expect(stage.received(client).map(\.reason) == [WAMPURI.Error.invalidArgument] && stage.closed.isEmpty)
    }

    @Test("a request that the operator forbids counts and gets an error") mutating func forbidden() {
        let client = stage.join()
        let reason = WAMPURI.Error.notAuthorized
        stage.give(.forbidden(client, .subscribe(request: 1, options: [:], topic: "a"), reason: reason))
        stage.give(.forbidden(client, .publish(request: 2, options: [:], topic: "a", .none), reason: reason))
        stage.give(.forbidden(client, .publish(request: 3, options: ["acknowledge": true], topic: "a", .none), reason: reason))
        stage.give(.forbidden(client, .call(request: 4, options: [:], procedure: "a", .none), reason: reason))
        stage.give(.forbidden(client, .register(request: 5, options: [:], procedure: "a"), reason: reason))
        let expected = [(WAMPRequestKind.subscribe, 1), (.publish, 3), (.call, 4), (.register, 5)]
        #expect(stage.received(client) == expected.map { .error($0.0, request: WAMPID($0.1), details: [:], uri: reason, .none) })
        stage.give(.forbidden(client, .subscribe(request: 7, options: [:], topic: "a"), reason: reason))
        expectViolation(client)
    }

    @Test("forbidden progressive input ends its call, which is answered once", arguments: [RouterPolicy.Quirks(), .crossbar])
    mutating func forbiddenPart(quirks: RouterPolicy.Quirks) {
        stage = RouterStage(RouterPolicy(quirks: quirks))
        let ability: Value = ["features": ["progressive_call_invocations": true, "call_canceling": true]]
        let (caller, callee) = (stage.join(roles: ["caller": ability]), stage.join(roles: ["callee": ability]))
        stage.send(.register(request: 1, options: [:], procedure: "a"), from: callee)
        let part = WAMPMessage.call(request: 1, options: ["progress": true], procedure: "a", .none)
        stage.send(part, from: caller)
        stage.give(.forbidden(caller, part, reason: WAMPURI.Error.notAuthorized))
        #expect(stage.received(caller).map(\.type) == [8])
        #expect(stage.received(callee).map(\.type) == [65, 68, 69])
        stage.send(.yield(request: 1, options: [:], .none), from: callee)
        #expect(stage.received(caller).isEmpty && stage.closed.isEmpty)
    }
}
