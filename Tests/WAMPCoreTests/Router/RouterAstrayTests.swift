import CodecCore
import MachineCore
import Testing

@testable import WAMPCore

/// Requests that faults of a test drop, double or delay.
@Suite struct RouterAstrayTests {
    private var stage = RouterStage()
    private let topic = WAMPMessage.subscribe(request: 1, options: [:], topic: "a")

    private mutating func miss(_ message: WAMPMessage, _ client: RouterConnection) {
        stage.drive { $0.miss(message, of: client, at: $1, into: &$2) }
    }
    private mutating func again(_ message: WAMPMessage, _ client: RouterConnection) {
        stage.drive { $0.handleAgain(.received(client, message), at: $1, into: &$2) }
    }

    @Test(
        "a dropped request is not answered, and the next one is no violation",
        arguments: [
            .publish(request: 1, options: ["acknowledge": true], topic: "a", .none), .subscribe(request: 1, options: [:], topic: "a"),
            .unsubscribe(request: 1, subscription: 1), .call(request: 1, options: [:], procedure: "wamp.session.count", .none),
            .register(request: 1, options: [:], procedure: "a"), .unregister(request: 1, registration: 1),
        ] as [WAMPMessage])
    mutating func lost(message: WAMPMessage) {
        let client = stage.join()
        miss(message, client)
        #expect(stage.received(client).isEmpty)
        stage.send(.subscribe(request: 2, options: [:], topic: "b"), from: client)
        #expect(stage.received(client).map(\.type) == [33] && stage.closed.isEmpty)
    }

    @Test("a request with a wrong id is a violation, dropped or not") mutating func violation() {
        let client = stage.join()
        miss(.subscribe(request: 2, options: [:], topic: "a"), client)
        #expect(stage.closed[client] == .violation)
    }

    @Test("a doubled request is answered twice and counts once") mutating func twice() {
        let client = stage.join()
        stage.send(topic, from: client)
        again(topic, client)
        stage.send(.subscribe(request: 2, options: [:], topic: "b"), from: client)
        #expect(stage.received(client).map(\.type) == [33, 33, 33] && stage.closed.isEmpty)
    }

    @Test("a delayed request is answered when it arrives") mutating func late() {
        let client = stage.join()
        miss(topic, client)
        stage.send(.subscribe(request: 2, options: [:], topic: "b"), from: client)
        again(topic, client)
        stage.send(.subscribe(request: 3, options: [:], topic: "c"), from: client)
        let answered = stage.received(client).map { if case .subscribed(let request, _) = $0 { request } else { 0 as WAMPID } }
        #expect(answered == [2, 1, 3] && stage.closed.isEmpty)
    }

    @Test("a delayed request that is forbidden is refused when it arrives") mutating func forbidden() {
        let client = stage.join()
        miss(topic, client)
        let (input, reason) = (topic, WAMPURI.Error.notAuthorized)
        stage.drive { $0.handleAgain(.forbidden(client, input, reason: reason), at: $1, into: &$2) }
        stage.send(.subscribe(request: 2, options: [:], topic: "b"), from: client)
        #expect(stage.received(client).map(\.type) == [8, 33] && stage.closed.isEmpty)
    }

    @Test("a doubled call is made once, and its delayed parts are still input") mutating func calls() {
        let ability: Value = ["features": ["progressive_call_invocations": true, "call_canceling": true]]
        let (caller, callee) = (stage.join(roles: ["caller": ability]), stage.join(roles: ["callee": ability]))
        stage.send(.register(request: 1, options: [:], procedure: "a"), from: callee)
        let part = WAMPMessage.call(request: 1, options: ["progress": true], procedure: "a", .none)
        let last = WAMPMessage.call(request: 1, options: [:], procedure: "a", .none)
        stage.send(part, from: caller)
        again(part, caller)
        miss(part, caller)
        stage.send(last, from: caller)
        again(last, caller)
        again(part, caller)
        #expect(stage.received(callee).map(\.type) == [65, 68, 68, 68] && stage.closed.isEmpty)
    }

    @Test("parts after a dropped first part are ignored") mutating func lostPart() {
        let client = stage.join(roles: ["caller": ["features": ["progressive_call_invocations": true]]])
        miss(.call(request: 1, options: ["progress": true], procedure: "a", .none), client)
        stage.send(.call(request: 1, options: [:], procedure: "a", .none), from: client)
        #expect(stage.received(client).isEmpty && stage.closed.isEmpty)
    }

    @Test("a request may be dropped after the largest id") mutating func wrap() {
        let client = stage.join()
        stage.router.peers[client]?.session?.lastRequest = .largestWAMPID
        miss(topic, client)
        stage.send(.subscribe(request: 2, options: [:], topic: "b"), from: client)
        again(topic, client)
        #expect(stage.received(client).map(\.type) == [33, 33] && stage.closed.isEmpty)
    }

    @Test("outside a session dropped requests are not counted") mutating func outside() {
        let (stranger, gone) = (stage.open(), stage.join())
        stage.give(.closed(gone))
        for client in [stranger, gone] { miss(topic, client) }
        again(topic, gone)
        #expect(stage.closed.isEmpty && stage.received(gone).isEmpty)
    }
}
