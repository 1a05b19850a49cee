import Holdfast
import HoldfastProtocols
import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct SharedClientsTests {
    private typealias Client = ProtocolClient<EchoRules>
    private let clock = ManualClock()
    private let grace = ManualClock()
    private let server = MemoryServer()
    private let clients: SharedClients<String, ProtocolClient<EchoRules>>

    init() {
        let (server, clock) = (server, clock)
        clients = SharedClients(closingAfter: .seconds(5), clock: grace) { _ in
            ProtocolClient(EchoRules(), over: WebSocket(clock: clock, connect: server.connect), clock: clock) { _ in EchoCoding() }
        }
    }

    private func welcome() async throws { try await #require(await server.nextAttempt()).accept().send(.text("welcome")) }

    @Test func `the client is created for its first lease, and closed a while after the last one`() async throws {
        var one: ClientLease<ProtocolClient<EchoRules>>? = clients.lease("a")
        let client = try #require(one?.client)
        try await welcome()
        try await client.ready()
        var two: ClientLease<ProtocolClient<EchoRules>>? = clients.lease("a")
        #expect(two?.client === client)
        one = nil
        #expect(clients.leaseCount("a") == 1)
        withExtendedLifetime(two) {}
        two = nil
        #expect(clients.leaseCount("a") == 0)
        #expect(await grace.nextSleep() == .seconds(5))
        guard case .ready = client.state else { return #expect(Bool(false), "the client stays for a while") }
        grace.advance(by: .seconds(5))
        for await state in client.states { if case .closed(let error) = state { #expect(error == nil) } }
        #expect(clients.lease("a").client !== client)
    }

    @Test func `a new lease within the grace time keeps the client`() async throws {
        var one: ClientLease<ProtocolClient<EchoRules>>? = clients.lease("a")
        let client = try #require(one?.client)
        try await welcome()
        try await client.ready()
        one = nil
        #expect(await grace.nextSleep() == .seconds(5))
        grace.advance(by: .seconds(4))
        let two = clients.lease("a")
        grace.advance(by: .seconds(60))
        #expect(two.client === client && clients.leaseCount("a") == 1)
        guard case .ready = client.state else { return #expect(Bool(false), "the client is still leased") }
    }

    @Test func `each key has its own client`() {
        let (one, other, again) = (clients.lease("a"), clients.lease("b"), clients.lease("a"))
        #expect(one.client !== other.client && one.client === again.client)
        #expect((clients.leaseCount("a"), clients.leaseCount("b"), clients.leaseCount("c")) == (2, 1, 0))
    }

    @Test func `a client that ended by itself is replaced at the next lease`() async {
        let one = clients.lease("a")
        await one.client.close()
        let two = clients.lease("a")
        #expect(two.client !== one.client && clients.leaseCount("a") == 2)
    }

    @Test func `an infinite grace time is limited to the range of the system's clocks`() async {
        let clients = SharedClients<String, String>(closingAfter: .seconds(Int64.max), clock: grace) { key in
            key
        } isOver: { _ in
            false
        } close: { _ in
        }
        _ = clients.lease("a")
        #expect(await grace.nextSleep() == .seconds(1 << 32))
    }
}
