import GraphQLCore
import HoldfastGraphQL
import HoldfastTesting
import ProtocolStage
import Testing
import WebSocketCore
import WebSocketRuntime

/// A GraphQL client on a ``ProtocolStage``: the test is the server.
struct GraphQLStage: Sendable {
    let base: ProtocolStage
    let client: GraphQLClient
    var clock: ManualClock { base.clock }

    init(_ change: (inout GraphQLOptions) -> Void = { _ in }, payload: GraphQLPayload? = nil) {
        var options = GraphQLOptions()
        options.pingInterval = nil
        change(&options)
        let settings = options
        base = ProtocolStage { settings.prepare(&$0) }
        client = GraphQLClient(over: base.socket, options: options, clock: base.clock, payload: payload)
    }

    /// Answers the next attempt, acknowledges the connection, and returns the server's end.
    func accept(_ version: GraphQLProtocol = .transportWS, again: Bool = false) async throws -> GraphQLPeer {
        let transport = again ? try await base.answerAgain(version.rawValue) : try await base.answer(version.rawValue)
        let peer = GraphQLPeer(transport: transport)
        #expect(try await peer.next()["type"]?.string == "connection_init")
        try await peer.send(#"{"type":"connection_ack"}"#)
        return peer
    }
}

/// The server's end of a connection.
struct GraphQLPeer: Sendable {
    struct Ended: Error {}
    let transport: MemoryTransport

    func send(_ text: String) async throws { try await transport.send(.text(text)) }
    func send(_ id: String, _ data: String) async throws { try await send(#"{"id":"\#(id)","type":"next","payload":{"data":\#(data)}}"#) }
    func complete(_ id: String) async throws { try await send(#"{"id":"\#(id)","type":"complete"}"#) }

    /// The next message of the client.
    func next() async throws -> Value {
        guard case .message(let message)? = try await transport.receive() else { throw Ended() }
        return try message.withBytes { try Value(json: $0.bytes) }
    }

    /// The next message, which begins an operation; returns its id.
    func operation(_ query: String, variables: Value? = nil) async throws -> String {
        let message = try await next()
        #expect(["subscribe", "start"].contains(message["type"]?.string))
        #expect(message["payload"]?["query"]?.string == query)
        #expect(message["payload"]?["variables"] == variables)
        return try #require(message["id"]?.string)
    }
}

@Suite(.timeLimit(.minutes(1))) struct GraphQLClientTests {
    private struct Tick: Codable, Hashable, Sendable { var symbol: String; var price: Int }
    private struct Ticks: Codable, Hashable, Sendable { var tick: Tick }
    private static let ticks = GraphQLOperation("subscription { tick }", data: Ticks.self)
    private static let plain = GraphQLOperation("subscription { v }")

    private static func tick(_ symbol: String, _ price: Int) -> String { #"{"tick":{"symbol":"\#(symbol)","price":\#(price)}}"# }

    // MARK: - Operations

    @Test(arguments: GraphQLProtocol.allCases) func `a subscription gives typed data, and ends when the server completes it`(
        version: GraphQLProtocol
    ) async throws {
        let stage = GraphQLStage()
        let peer = try await stage.accept(version)
        var events = stage.client.subscribe(Self.ticks).makeAsyncIterator()
        let id = try await peer.operation("subscription { tick }")
        let type = version == .legacy ? "data" : "next"
        try await peer.send(#"{"id":"\#(id)","type":"\#(type)","payload":{"data":\#(Self.tick("SAIL", 7))}}"#)
        #expect(try await events.next()?.data == Ticks(tick: Tick(symbol: "SAIL", price: 7)))
        try await peer.complete(id)
        #expect(try await events.next() == nil)
    }

    @Test func `variables, name and extensions are sent, and a query gives one answer`() async throws {
        let stage = GraphQLStage()
        let peer = try await stage.accept()
        let operation = GraphQLOperation(
            "query Q($id: Int) { v }", name: "Q", variables: ["id": 7], data: [String: Int].self, extensions: ["x": ["y": 1]])
        async let answer = stage.client.query(operation)
        let message = try await peer.next()
        let payload: Value = [
            "query": "query Q($id: Int) { v }", "operationName": "Q", "variables": ["id": 7], "extensions": ["x": ["y": 1]],
        ]
        #expect(message["payload"] == payload)
        try await peer.send("1", #"{"v":8}"#)
        #expect(try await answer.complete() == ["v": 8])
    }

    @Test func `an answer with errors has the data that is there`() async throws {
        let stage = GraphQLStage()
        let peer = try await stage.accept()
        async let answer = stage.client.query(GraphQLOperation("{ v }"))
        _ = try await peer.operation("{ v }")
        try await peer.send(#"{"id":"1","type":"next","payload":{"data":{"v":null},"errors":[{"message":"no","path":["v"]}]}}"#)
        let response = try await answer
        #expect(response.data == ["v": nil] && response.errors == [GraphQLError("no", path: [.field("v")])])
        let failure = #expect(throws: GraphQLFailure.self) { try response.complete() }
        #expect(failure?.code == .refused && failure?.isRetryable == false)
        #expect("\(try #require(failure))" == "the server refused the operation: no (at v)")
    }

    @Test func `errors of the server end a subscription`() async throws {
        let stage = GraphQLStage()
        let peer = try await stage.accept()
        var events = stage.client.subscribe(Self.plain).makeAsyncIterator()
        let id = try await peer.operation("subscription { v }")
        try await peer.send(id, "1")
        try await peer.send(#"{"id":"\#(id)","type":"error","payload":[{"message":"no"}]}"#)
        #expect(try await events.next()?.data == 1)
        let failure = await #expect(throws: GraphQLFailure.self) { try await events.next() }
        #expect(failure?.code == .refused && failure?.errors == [GraphQLError("no")])
    }

    @Test func `data of another type is an event of its own, and the subscription goes on`() async throws {
        let stage = GraphQLStage()
        let peer = try await stage.accept()
        var events = stage.client.subscribe(Self.ticks).makeAsyncIterator()
        let id = try await peer.operation("subscription { tick }")
        try await peer.send(id, #"{"tick":7}"#)
        try await peer.send(id, Self.tick("SAIL", 1))
        guard case .undecodable(let failure)? = try await events.next() else { throw GraphQLPeer.Ended() }
        #expect(failure.code == .undecodable && failure.underlying is DecodingError)
        #expect(try await events.next()?.data?.tick.price == 1)
    }

    private struct Nest: Decodable, Sendable { var inner: [Nest]? }

    @Test func `data of more than 128 levels is undecodable, and the subscription goes on`() async throws {
        func nested(_ count: Int) -> String {
            String(repeating: #"{"inner":["#, count: count) + "{}" + String(repeating: "]}", count: count)
        }
        let stage = GraphQLStage()
        let peer = try await stage.accept()
        var events = stage.client.subscribe(GraphQLOperation("subscription { inner }", data: Nest.self)).makeAsyncIterator()
        let id = try await peer.operation("subscription { inner }")
        // An object and an array for each, and the object within.
        for count in [64, 63] { try await peer.send(id, nested(count)) }
        guard case .undecodable(let failure)? = try await events.next() else { throw GraphQLPeer.Ended() }
        #expect(failure.code == .undecodable)
        #expect(try await events.next()?.data?.inner?.count == 1)
    }

    @Test func `variables that cannot be encoded fail at once, and nothing is sent`() async throws {
        struct Bad: Encodable, Sendable {
            func encode(to encoder: any Encoder) throws {
                throw EncodingError.invalidValue(self, EncodingError.Context(codingPath: [], debugDescription: "bad"))
            }
        }
        let stage = GraphQLStage()
        let operation = GraphQLOperation("{ v }", variables: Bad(), data: Value.self)
        let failure = await #expect(throws: GraphQLFailure.self) { try await stage.client.query(operation) }
        #expect(failure?.code == .unencodable && failure?.mayHaveArrived == false)
        var events = stage.client.subscribe(operation).makeAsyncIterator()
        let other = await #expect(throws: GraphQLFailure.self) { try await events.next() }
        #expect(other?.code == .unencodable)
    }

    @Test func `a sequence that is released is completed once`() async throws {
        let stage = GraphQLStage()
        let peer = try await stage.accept()
        for number in 1...2 {
            try await takeOne(stage, peer)
            #expect(try await peer.next() == ["id": .text("\(number)"), "type": "complete"])
        }
    }

    /// Takes one event of a subscription, and releases it.
    private func takeOne(_ stage: GraphQLStage, _ peer: GraphQLPeer) async throws {
        let events = stage.client.subscribe(Self.plain)
        try await peer.send(try await peer.operation("subscription { v }"), "1")
        for try await _ in events { break }
    }

    @Test func `a cancelled query is completed, and tells that it may have arrived`() async throws {
        let stage = GraphQLStage()
        let peer = try await stage.accept()
        let task = Task { try await stage.client.mutate(GraphQLOperation("mutation { v }")) }
        let id = try await peer.operation("mutation { v }")
        task.cancel()
        let failure = await #expect(throws: GraphQLFailure.self) { try await task.value }
        #expect(failure?.code == .cancelled && failure?.mayHaveArrived == true)
        #expect(try await peer.next() == ["id": .text(id), "type": "complete"])
    }

    @Test func `a query without an answer in time fails`() async throws {
        let stage = GraphQLStage()
        let answer = Task { try await stage.client.query(GraphQLOperation("{ v }"), within: .seconds(7)) }
        let peer = try await stage.accept()
        _ = try await peer.operation("{ v }")
        await stage.base.pass(.seconds(7))
        let failure = await #expect(throws: GraphQLFailure.self) { try await answer.value }
        #expect(failure?.code == .timedOut && failure?.isRetryable == true)
    }

    // MARK: - Reconnects

    @Test func `a subscription stands again after a loss with new variables, and tells the gap`() async throws {
        let stage = GraphQLStage()
        let operation = GraphQLOperation("subscription($after: Int) { v }", variables: ["after": 0], data: Int.self)
        var events = stage.client.subscribe(operation, renewing: { ["after": $0 ?? 0] }).makeAsyncIterator()
        var peer = try await stage.accept()
        let id = try await peer.operation("subscription($after: Int) { v }", variables: ["after": 0])
        try await peer.send(id, "1")
        #expect(try await events.next()?.data == 1)
        peer.transport.cut()
        await stage.client.states.until { if case .waiting = $0 { true } else { false } }
        peer = try await stage.accept(again: true)
        #expect(try await peer.operation("subscription($after: Int) { v }", variables: ["after": 1]) == id)
        guard case .gap(let away)? = try await events.next() else { throw GraphQLPeer.Ended() }
        #expect(away == .seconds(1))
        try await peer.send(id, "2")
        #expect(try await events.next()?.data == 2)
    }

    @Test func `new variables also follow from events that the consumer has not taken`() async throws {
        let stage = GraphQLStage()
        let operation = GraphQLOperation("subscription($after: Int) { v }", variables: ["after": 0], data: Int.self)
        var events = stage.client.subscribe(operation, renewing: { ["after": $0 ?? 0] }).makeAsyncIterator()
        var peer = try await stage.accept()
        let id = try await peer.operation("subscription($after: Int) { v }", variables: ["after": 0])
        for number in 1...2 { try await peer.send(id, "\(number)") }
        peer.transport.cut()
        await stage.client.states.until { if case .waiting = $0 { true } else { false } }
        peer = try await stage.accept(again: true)
        #expect(try await peer.operation("subscription($after: Int) { v }", variables: ["after": 2]) == id)
        for number in 1...2 { #expect(try await events.next()?.data == number) }
        #expect(try await events.next()?.isGap == true)
    }

    @Test func `after a loss a mutation is unknown if it was sent, and waits if it was not`() async throws {
        let stage = GraphQLStage()
        var peer = try await stage.accept()
        let sent = Task { try await stage.client.mutate(GraphQLOperation("mutation { a }")) }
        _ = try await peer.operation("mutation { a }")
        peer.transport.cut()
        let failure = await #expect(throws: GraphQLFailure.self) { try await sent.value }
        #expect(failure?.code == .outcomeUnknown && failure?.mayHaveArrived == true)
        async let waiting = stage.client.mutate(GraphQLOperation("mutation { b }"))
        peer = try await stage.accept(again: true)
        let id = try await peer.operation("mutation { b }")
        try await peer.send(id, "7")
        #expect(try await waiting.complete() == 7)
    }

    @Test func `each connection gets a new payload, and a refusal asks for another`() async throws {
        let asked = LockedValue(0)
        let stage = GraphQLStage(payload: {
            asked.withLockedValue { $0 += 1 }
            return ["token": "secret-\(asked.withLockedValue { $0 })"]
        })
        var transport = try await stage.base.answer("graphql-transport-ws")
        #expect(try await GraphQLPeer(transport: transport).next()["payload"] == ["token": "secret-1"])
        _ = await transport.close(CloseFrame(CloseCode(rawValue: 4403), reason: "expired"))
        transport = try await stage.base.answerAgain("graphql-transport-ws")
        let peer = GraphQLPeer(transport: transport)
        #expect(try await peer.next()["payload"] == ["token": "secret-2"])
        try await peer.send(#"{"type":"connection_ack","payload":{"user":"ann"}}"#)
        try await stage.client.ready()
        #expect(stage.client.acknowledgement == ["user": "ann"])
    }

    @Test func `without a payload to renew, the first refusal ends the client`() async throws {
        let stage = GraphQLStage()
        var events = stage.client.subscribe(Self.plain).makeAsyncIterator()
        let transport = try await stage.base.answer("graphql-transport-ws")
        _ = try await GraphQLPeer(transport: transport).next()
        _ = await transport.close(CloseFrame(CloseCode(rawValue: 4403), reason: "forbidden"))
        let failure = await #expect(throws: GraphQLFailure.self) { try await events.next() }
        #expect(failure?.code == .connectionRefused)
        await stage.client.states.until { if case .closed = $0 { true } else { false } }
    }

    @Test func `an app that can give no payload ends the client`() async throws {
        let stage = GraphQLStage(payload: { throw CredentialUnavailable(isRetryable: false, "nobody is signed in") })
        _ = try await stage.base.answer("graphql-transport-ws")
        let failure = await #expect(throws: GraphQLFailure.self) { try await stage.client.query(Self.plain) }
        #expect(failure?.code == .closed)
    }

    @Test func `a server without a subprotocol of GraphQL is refused`() async throws {
        let stage = GraphQLStage()
        _ = try await stage.base.answer(nil)
        await stage.client.states.until { if case .closed = $0 { true } else { false } }
    }

    // MARK: - Delivery and sharing

    @Test func `the latest of each key is kept, and no gap is lost`() async throws {
        let stage = GraphQLStage()
        let events = stage.client.batches(of: Self.ticks, delivery: .latest(by: { $0.data?.tick.symbol }))
        var peer = try await stage.accept()
        var id = try await peer.operation("subscription { tick }")
        for price in 1...3 { try await peer.send(id, Self.tick("SAIL", price)) }
        try await peer.send(id, Self.tick("BANK", 9))
        try await peer.send(#"{"type":"ping"}"#)
        #expect(try await peer.next() == ["type": "pong"])
        peer.transport.cut()
        peer = try await stage.accept(again: true)
        id = try await peer.operation("subscription { tick }")
        try await peer.send(id, Self.tick("SAIL", 4))
        try await peer.complete(id)
        try await peer.send(#"{"type":"ping"}"#)
        #expect(try await peer.next() == ["type": "pong"])
        var (gaps, prices): (Int, [Int]) = (0, [])
        for try await batch in events {
            gaps += batch.count { $0.isGap }
            prices += batch.compactMap { $0.data?.tick.price }
        }
        #expect(gaps == 1 && prices == [4, 9])
    }

    @Test func `two consumers share one subscription, which ends with the last of them`() async throws {
        let stage = GraphQLStage()
        let peer = try await stage.accept()
        var first: GraphQLEvents<GraphQLEvent<Value>>? = stage.client.subscribe(Self.plain, isShared: true)
        let second = stage.client.subscribe(Self.plain, isShared: true)
        let id = try await peer.operation("subscription { v }")
        try await peer.send(id, "1")
        var (one, two) = (first?.makeAsyncIterator(), Optional(second.makeAsyncIterator()))
        #expect(try await one?.next()?.data == 1)
        #expect(try await two?.next()?.data == 1)
        (first, one) = (nil, nil)
        try await peer.send(id, "2")
        #expect(try await two?.next()?.data == 2)
        async let other = stage.client.query(GraphQLOperation("{ q }"))
        let query = try await peer.operation("{ q }")
        try await peer.send(query, "3")
        #expect(try await other.data == 3)
        two = nil
        withExtendedLifetime(second) {}
    }

    @Test func `a consumer that leaves a shared subscription does not take the closure for new variables with it`() async throws {
        let stage = GraphQLStage()
        let operation = GraphQLOperation("subscription($after: Int) { v }", variables: ["after": 0], data: Int.self)
        var events = stage.client.subscribe(operation, isShared: true, renewing: { ["after": $0 ?? 0] }).makeAsyncIterator()
        do { _ = stage.client.subscribe(operation, isShared: true, renewing: { _ in ["after": 99] }) }
        var peer = try await stage.accept()
        let id = try await peer.operation("subscription($after: Int) { v }", variables: ["after": 0])
        try await peer.send(id, "7")
        #expect(try await events.next()?.data == 7)
        peer.transport.cut()
        peer = try await stage.accept(again: true)
        #expect(try await peer.operation("subscription($after: Int) { v }", variables: ["after": 7]) == id)
    }

    // MARK: - On demand

    @Test func `a client on demand connects for the first operation, closes when idle, and connects again`() async throws {
        let stage = GraphQLStage { ($0.connectsOnDemand, $0.idleTimeout) = (true, .seconds(60)) }
        async let first = stage.client.query(GraphQLOperation("{ a }"))
        var peer = try await stage.accept()
        try await peer.send(try await peer.operation("{ a }"), "1")
        #expect(try await first.data == 1)
        stage.clock.advance(by: .seconds(60))
        await #expect(throws: GraphQLPeer.Ended.self) { try await peer.next() }
        await stage.base.socket.states.until { if case .disconnected = $0 { true } else { false } }
        async let second = stage.client.query(GraphQLOperation("{ b }"), within: .seconds(3600))
        peer = try await stage.accept(again: true)
        try await peer.send(try await peer.operation("{ b }"), "2")
        #expect(try await second.data == 2)
    }

    @Test func `the round trip of a ping is measured, and a server without pongs is left`() async throws {
        let stage = GraphQLStage { ($0.pingInterval, $0.pongTimeout) = (.seconds(20), .seconds(5)) }
        let peer = try await stage.accept()
        try await stage.client.ready()
        stage.clock.advance(by: .seconds(20))
        #expect(try await peer.next() == ["type": "ping"])
        try await peer.send(#"{"type":"pong"}"#)
        try await peer.send(#"{"type":"ping"}"#)
        #expect(try await peer.next() == ["type": "pong"])
        #expect(stage.client.roundTrip == .zero)
        stage.clock.advance(by: .seconds(20))
        #expect(try await peer.next() == ["type": "ping"])
        stage.clock.advance(by: .seconds(5))
        _ = try await stage.accept(again: true)
    }

    @Test func `an operation above the limit fails at once`() async throws {
        let stage = GraphQLStage { $0.operationLimit = 0 }
        await #expect {
            try await stage.client.query(GraphQLOperation("{ a }"))
        } throws: {
            ($0 as? GraphQLFailure)?.code == .tooMany
        }
        await stage.client.close()
    }

    @Test func `closing ends all operations`() async throws {
        let stage = GraphQLStage()
        _ = try await stage.accept()
        var events = stage.client.subscribe(Self.plain).makeAsyncIterator()
        await stage.client.close()
        #expect(try await events.next() == nil)
        let failure = await #expect(throws: GraphQLFailure.self) { try await stage.client.query(Self.plain) }
        #expect(failure?.code == .closed && failure?.mayHaveArrived == false)
    }
}
