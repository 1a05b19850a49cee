import HoldfastServer
import HoldfastTesting
import MachineCore
import NIOCore
import NIOPosix
import Testing
import WebSocketRuntime

/// The host that runs the machine of a server.
@Suite(.timeLimit(.minutes(2))) struct MachineHostTests {
    private struct ID: HostedID {
        let number: UInt64
        init(_ number: UInt64) { self.number = number }
    }

    private enum Input {
        case said(ID, String)
        case alarm(Moment)
        case stop
    }

    /// A client with the messages it received and the settled cost.
    ///
    /// SAFETY: touched only on the event loop of its port.
    private final class Client: HostedClient, @unchecked Sendable {
        var id: ID?
        var received: [String] = []
        var settled = 0
        /// How many messages it had received at each settlement.
        var receivedAtSettlement: [Int] = []

        func settled(_ cost: Int) {
            settled += cost
            receivedAtSettlement.append(received.count)
        }
    }

    private final class Nothing {}

    /// A server that sends each message to all members.
    ///
    /// SAFETY: touched only on the host's event loop, except for constants.
    private final class Echo: HostedServer, @unchecked Sendable {
        typealias ID = MachineHostTests.ID
        typealias Input = MachineHostTests.Input
        typealias Client = MachineHostTests.Client
        typealias Local = Nothing

        enum Output: Sendable {
            case notify(String, to: [ID])
            case answer(String, to: ID)
        }

        let host: MachineHost<Echo>
        let wakes = AsyncStream.makeStream(of: Moment.self)
        /// The receivers of each message.
        var members: [ID] = []
        /// How many inputs were handled at each time that outputs were performed.
        var turns: [Int] = []
        var received: [String] = []
        var deadline: Moment?
        var stopsAtOnce = true
        private var said: [(ID, String)] = []

        init(_ loops: [any EventLoop], _ time: LinkTime) {
            host = MachineHost(loops, time: time, fewInputs: 4) { Nothing() }
            host.serve(self)
        }

        func wake(at now: Moment) {
            deadline = nil
            wakes.continuation.yield(now)
        }

        func handle(_ input: Input, at now: Moment) {
            switch input {
            case .said(let id, let text):
                received.append(text)
                said.append((id, text))
            case .alarm(let moment): deadline = moment
            case .stop: if stopsAtOnce { host.hasStopped() }
            }
        }

        func carryOut(at now: Moment) {
            turns.append(received.count)
            for (id, text) in said {
                host.put(.answer("you said \(text)", to: id), for: id)
                host.putEverywhere(.notify(text, to: members))
            }
            said = []
        }

        static func deliver(_ outputs: [Output], sentAt: NIODeadline, at port: HostPort<Echo>) {
            for output in outputs {
                switch output {
                case .answer(let text, let id): port[id]?.received.append(text)
                case .notify(let text, let members): for id in members where id.port == port.number { port[id]?.received.append(text) }
                }
            }
        }
    }

    private let group = MultiThreadedEventLoopGroup.singleton
    private func server(_ time: LinkTime = LinkTime(ContinuousClock())) -> Echo {
        var loops: [any EventLoop] = []
        // On one core the same loop comes twice and has two ports.
        while loops.count < 2 {
            let next = group.next()
            if !loops.contains(where: { $0 === next }) || loops.count == System.coreCount { loops.append(next) }
        }
        return Echo(loops, time)
    }

    /// A client at a port with its id.
    private func client(_ port: HostPort<Echo>) async throws -> (client: Client, id: ID) {
        let client = Client()
        let id = try await port.loop.submit {
            client.id = port.add(client)
            return client.id
        }.get()
        return (client, try #require(id))
    }

    /// Waits until the work of a port has this effect.
    private func pass(_ port: HostPort<Echo>, until isDone: @escaping @Sendable () -> Bool) async throws {
        while try await !port.loop.submit({ isDone() }).get() { await Task.yield() }
    }

    @Test func `a message reaches all event loops, and its cost is settled after all have delivered it`() async throws {
        let server = server()
        let ports = try [#require(server.host.port(number: 0)), #require(server.host.port(number: 1))]
        let (here, there) = (try await client(ports[0]), try await client(ports[1]))
        try await server.host.loop.submit { server.members = [here.id, there.id] }.get()
        for number in 1...3 {
            try await ports[1].loop.submit { ports[1].handle(.said(there.id, "\(number)"), of: there.id, cost: number) }.get()
            try await pass(ports[1]) { there.client.settled == (1...number).reduce(0, +) }
        }
        #expect(try await ports[0].loop.submit { here.client.received }.get() == ["1", "2", "3"])
        let messages = try await ports[1].loop.submit { (there.client.received, there.client.receivedAtSettlement) }.get()
        #expect(messages.0 == ["you said 1", "1", "you said 2", "2", "you said 3", "3"] && messages.1 == [2, 4, 6])
        #expect(try await ports[0].loop.submit { here.client.settled }.get() == 0)
        server.host.finish { _ in }
    }

    @Test func `a client with many messages takes turns with other clients and with the event loop`() async throws {
        let server = server()
        let (loud, calm) = (ID(count: 1, slot: 0, port: 0), ID(count: 1, slot: 1, port: 0))
        let mostInTurn = MachineHost<Echo>.mostInTurn
        let all = (1...1000).map { HostedInput<Echo>(.said(loud, "loud \($0)"), of: loud) }
        let calmly = HostedInput<Echo>(.said(calm, "calm"), of: calm)
        let (first, few) = try await server.host.loop.submit {
            server.host.take(all + [calmly])
            let first = server.received
            // With a queue even few inputs go to its end.
            server.host.take([calmly])
            return (first, server.received)
        }.get()
        #expect(first.contains("calm") && first.count <= mostInTurn + FairQueue<ID, Input>.inARow && few == first)
        while try await server.host.loop.submit({ server.received.count }).get() < 1002 { await Task.yield() }
        let (received, turns) = try await server.host.loop.submit { (server.received, server.turns) }.get()
        #expect(received.filter { $0 != "calm" } == (1...1000).map { "loud \($0)" })
        #expect(zip(turns, [0] + turns).allSatisfy { $0 - $1 <= mostInTurn + FairQueue<ID, Input>.inARow } && turns.count > 3)
        server.host.finish { _ in }
    }

    @Test func `the machine is woken at its deadline, and an earlier deadline replaces it`() async throws {
        let clock = ManualClock()
        let server = server(LinkTime(clock))
        server.host.submit([.alarm(Moment(.seconds(10)))])
        #expect(await clock.nextSleep() == .seconds(10))
        server.host.submit([.alarm(Moment(.seconds(3)))])
        #expect(await clock.nextSleep() == .seconds(3))
        clock.advance(by: .seconds(3))
        for await moment in server.wakes.stream {
            #expect(moment == Moment(.seconds(3)))
            break
        }
        server.host.finish { _ in }
    }

    @Test func `a slot is reused, and the id of its former client is invalid`() async throws {
        let server = server()
        let port = try #require(server.host.port(of: server.host.loop))
        let (first, second) = (try await client(port), try await client(port))
        try await port.loop.submit {
            first.client.id = nil
            port.remove(first.id)
        }.get()
        let third = try await client(port)
        #expect(third.id != first.id && third.id.slot == first.id.slot && third.id.slot != second.id.slot)
        let found = try await port.loop.submit { (port[first.id] == nil, port[third.id] === third.client, port[ID(.max)] == nil) }.get()
        #expect(found == (true, true, true))
        server.host.finish { _ in }
    }

    @Test func `stopping waits for the server for a limited time, and finishing releases it`() async throws {
        weak var kept: Echo?
        do {
            let server = server()
            kept = server
            await server.host.stop(.stop, within: .seconds(3600))
            #expect(server.host.isStopping)
            let late = self.server()
            try await late.host.loop.submit { late.stopsAtOnce = false }.get()
            await late.host.stop(.stop, within: .milliseconds(20))
            late.host.finish { _ in }
            let (ends, end) = AsyncStream.makeStream(of: Void.self)
            server.host.finish { _ in end.finish() }
            for await _ in ends {}
            #expect(try await server.host.loop.submit { server.host.port(number: 0) == nil }.get())
            // A late input has no effect.
            try await server.host.loop.submit { server.host.take([.stop]) }.get()
        }
        while kept != nil { await Task.yield() }
    }
}
