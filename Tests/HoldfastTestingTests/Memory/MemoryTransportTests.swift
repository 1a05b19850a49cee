import Holdfast
import HoldfastTesting
import Testing

/// What is specific to the transport in memory: faults, and time that the test moves.
///
/// The suite of all transports tests the rest.
@Suite(.timeLimit(.minutes(1))) struct MemoryTransportTests {
    private let clock = ManualClock()

    private func pair(_ change: (inout WebSocketConfiguration) -> Void = { _ in }) -> (client: MemoryTransport, server: MemoryTransport) {
        var configuration = WebSocketConfiguration()
        configuration.timeouts.pingInterval = nil
        change(&configuration)
        return MemoryTransport.pair(configuration: configuration, clock: clock)
    }

    private func error(of end: MemoryTransport) async -> TransportError? {
        if case .failure(let error) = await end.ended() { error } else { nil }
    }

    @Test func `a connection over memory works like any other`() async throws {
        var agreement = Agreement(response: ResponseHead(status: 101, headers: ["X-Test": "yes"]))
        agreement.subprotocol = "chat"
        let (client, server) = MemoryTransport.pair(agreement: agreement)
        let connection = WebSocketConnection(client)
        #expect(connection.subprotocol == "chat" && connection.response.headers["X-Test"] == "yes")
        #expect(client.role == .client && server.role == .server)
        try await server.send(.text("hello"))
        _ = await server.close(CloseFrame(.normal))
        var messages: [Message] = []
        for try await message in connection.messages { messages.append(message) }
        #expect(messages == [.text("hello")])
        #expect(connection.closeRecord?.closedFirst == .remote)
    }

    @Test func `a cut ends the connection on both sides and loses the messages in flight`() async throws {
        let (client, server) = pair()
        client.stall()
        try await client.send(.text("under way"))
        server.cut()
        for end in [client, server] {
            #expect(await error(of: end)?.code == .lost)
            await #expect(throws: TransportError.self) { try await end.receive() }
        }
    }

    @Test func `a stalled link holds back everything and loses nothing`() async throws {
        let (client, server) = pair()
        client.stall()
        try await client.send(.text("first"))
        let pinging = Task { try await server.ping(timeout: .seconds(60)) }
        #expect(await clock.nextSleep() == .seconds(30), "the stall timeout runs because the peer takes nothing")
        clock.advance(by: .seconds(5))
        client.resume()
        #expect(try await server.receive() == .message(.text("first")))
        #expect(try await pinging.value <= .seconds(5))
    }

    @Test func `the heartbeat detects a stalled link at its deadline`() async throws {
        let (client, server) = pair { ($0.timeouts.pingInterval, $0.timeouts.ping) = (.seconds(20), .seconds(10)) }
        client.stall()
        clock.advance(by: await clock.nextSleep())
        #expect(clock.now.offset == .seconds(20) && client.closeRecord == nil)
        clock.advance(by: await clock.nextSleep())
        #expect(await error(of: client)?.code == .unresponsive)
        #expect(await error(of: server)?.code == .unresponsive)
        #expect(clock.now.offset == .seconds(30))
    }

    @Test func `a ping expires at its deadline, and its late pong has no effect`() async throws {
        let (client, server) = pair()
        client.stall()
        let pinging = Task { try await client.ping(timeout: .seconds(3)) }
        #expect(await clock.nextSleep() == .seconds(3))
        clock.advance(by: .seconds(3))
        let error = await #expect(throws: TransportError.self) { try await pinging.value }
        #expect(error?.code == .timedOut)
        client.resume()
        #expect(try await client.ping(timeout: .seconds(3)) == .zero)
        _ = server
    }

    @Test func `a close that nobody answers ends at its deadline`() async throws {
        let (client, server) = pair { $0.timeouts.close = .seconds(7) }
        client.stall()
        let closing = Task { await client.close(CloseFrame(.normal, reason: "bye")) }
        #expect(await clock.nextSleep() == .seconds(7))
        #expect(client.closeRecord == nil)
        clock.advance(by: .seconds(7))
        let record = await closing.value
        #expect(record == CloseRecord(sent: CloseFrame(.normal, reason: "bye"), closedFirst: .local))
        #expect(server.closeRecord == nil, "the link is half-open, so the other end does not know of the close")
        client.resume()
        #expect(await error(of: server)?.code == .lost)
    }

    @Test func `a connection whose peer takes nothing ends at the stall timeout`() async throws {
        let (client, server) = pair {
            ($0.limits.receiveBuffer, $0.limits.sendBuffer, $0.timeouts.stall) = (100, 100, .seconds(9))
        }
        let sending = Task {
            while true { try await client.send(.text("and another")) }
        }
        #expect(await clock.nextSleep() == .seconds(9))
        clock.advance(by: .seconds(9))
        #expect(await error(of: client)?.code == .stalled)
        let failure = await #expect(throws: TransportError.self) { try await sending.value }
        #expect(failure?.code == .stalled)
        #expect(try await server.receive() == .message(.text("and another")))
    }

    @Test func `when one end is released, the other end loses the connection`() async throws {
        var ends: (client: MemoryTransport?, server: MemoryTransport?) = pair()
        try await ends.client?.send(.text("last words"))
        _ = try await ends.client?.ping(timeout: .seconds(1))
        ends.client = nil
        let server = try #require(ends.server)
        #expect(await error(of: server)?.code == .lost)
        #expect(try await server.receive() == .message(.text("last words")))
    }
}
