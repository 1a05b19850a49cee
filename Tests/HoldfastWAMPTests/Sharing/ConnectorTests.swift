import Holdfast
import HoldfastTesting
import HoldfastWAMP
import ProtocolStage
import WebSocketRuntime
import Testing
import WAMPCore
import WebSocketCore

@Suite("Shared connections", .timeLimit(.minutes(1))) struct ConnectorTests {
    let clock = ManualClock()
    let grace = ManualClock()
    let server = MemoryServer()
    let connector: WAMPConnector

    init() {
        let (server, clock) = (server, clock)
        connector = WAMPConnector(closingAfter: .seconds(5), clock: grace) {
            var socketOptions = WebSocketOptions()
            WAMPOptions.prepare(&socketOptions)
            let socket = WebSocket(socketOptions, seed: 1, clock: clock, connect: server.connect)
            return WAMPClient(over: socket, realm: "realm1", clock: clock, seed: 7)
        }
    }

    private func accept() async throws -> WAMPPeer {
        let attempt = try #require(await server.nextAttempt())
        let subprotocol = WAMPSerialization.cbor.subprotocol
        let peer = WAMPPeer(transport: attempt.accept(subprotocol: subprotocol), serialization: .cbor)
        try await peer.welcome()
        return peer
    }

    @Test("the connection opens for the first lease and closes some time after the last is released")
    func leases() async throws {
        var one: WAMPLease? = connector.lease()
        let peer = try await accept()
        try await one?.client.joined()
        var two: WAMPLease? = connector.lease()
        #expect(one?.client === two?.client)
        one = nil
        #expect(connector.leaseCount == 1)
        _ = two
        two = nil
        #expect(await grace.nextSleep() == .seconds(5))
        grace.advance(by: .seconds(5))
        guard case .goodbye? = try await peer.next() else { throw WAMPPeer.Mismatch(message: nil) }
        try await peer.send(.goodbye(details: [:], reason: WAMPURI.Close.goodbyeAndOut, .none))
        #expect(try await peer.next() == nil)
        // The next lease gets another connection.
        let three = connector.lease()
        _ = try await accept()
        try await three.client.joined()
    }

    @Test("an unlimited grace period does not overflow the clock")
    func forEver() async throws {
        let connector = WAMPConnector(closingAfter: .seconds(Int64.max), clock: grace) { [server, clock] in
            WAMPClient(over: WebSocket(clock: clock, connect: server.connect), realm: "realm1", clock: clock)
        }
        _ = connector.lease()
        #expect(await grace.nextSleep() == .seconds(1 << 32))
    }

    @Test("a new lease within the grace period keeps the connection")
    func inTime() async throws {
        var one: WAMPLease? = connector.lease()
        let client = try #require(one?.client)
        let peer = try await accept()
        try await client.joined()
        one = nil
        #expect(await grace.nextSleep() == .seconds(5))
        grace.advance(by: .seconds(4))
        let two = connector.lease()
        #expect(two.client === client)
        grace.advance(by: .seconds(60))
        async let sum = two.client.call(API.add, 1, 2)
        try await peer.answer(peer.call(), [3])
        #expect(try await sum == 3)
    }
}
