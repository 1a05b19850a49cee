import HoldfastServer
import HoldfastTesting
import WebSocketRuntime
import Testing

@testable import Holdfast

/// Sources of network changes, and URLs that need no network.
@Suite(.timeLimit(.minutes(1))) struct SessionNetworkTests {
    private static let home = NetworkPath(.wired, interface: "eth0")

    @Test func `a path source replaces the app's notifications of the network`() async throws {
        let paths = HeartPaths()
        let stage = Stage { $0.pathSource = paths }
        try await stage.refuse()
        paths.notify(.unsatisfied)
        await stage.state { if case .held = $0 { true } else { false } }
        stage.clock.advance(by: .seconds(3600))
        paths.notify(.satisfied(Self.home))
        // An attempt made without a network would have increased the attempt's number.
        #expect(try #require(await stage.server.nextAttempt()).request.number == 1)
    }

    @Test(arguments: [true, false])
    func `closing or releasing the socket releases its source`(isClosed: Bool) async throws {
        let paths = HeartPaths()
        var stage: Stage? = Stage { $0.pathSource = paths }
        try await stage?.refuse()
        if isClosed { await stage?.socket.close() } else { stage = nil }
        for await _ in paths.released {}
    }

    @Test(arguments: ["ws://localhost:1/", "ws://a.LOCALHOST:1/", "ws://127.0.0.1:1/", "wss://127.8.9.10/", "ws://[::1]:1/"])
    func `a loopback URL needs no network`(url: String) throws {
        #expect(try WebSocketURL(url).isLoopback)
        #expect(WebSocketOptions().staysWithinDevice(url))
        var options = WebSocketOptions()
        options.alternatives = ["wss://example.com", url]
        #expect(options.staysWithinDevice("wss://example.com"))
    }

    @Test(arguments: ["ws://example.com/", "ws://localhost.example.com/", "ws://127.0.0.1.example.com/", "ws://128.0.0.1/", "ws://[::2]/"])
    func `any other host needs a network`(url: String) throws {
        #expect(try !WebSocketURL(url).isLoopback)
        #expect(!WebSocketOptions().staysWithinDevice(url))
    }

    @Test func `a source without a network holds a socket, unless its URL is loopback`() async throws {
        try await WebSocketServer.echo().withRunning { server in
            let (paths, local) = (HeartPaths(), HeartPaths())
            paths.notify(.unsatisfied)
            local.notify(.unsatisfied)
            let remote = WebSocket("ws://192.0.2.1/") { $0.pathSource = paths }
            for await case .held in remote.states { break }
            let loopback = WebSocket(server.url()) { $0.pathSource = local }
            for await case .connected in loopback.states { break }
            await loopback.close()
            await remote.close()
        }
    }

    @Test(arguments: [0, 1])
    func `an invalid alternative ends the socket at once with an error that names it`(index: Int) async throws {
        try await WebSocketServer.echo().withRunning { server in
            var alternatives = [server.url(), server.url()]
            alternatives[index] = "htp://example.com/?token=secret"
            let socket = WebSocket(server.url()) { [alternatives] in $0.alternatives = alternatives }
            var events: [WebSocketEvent] = []
            for await event in socket.events { events.append(event) }
            let opened = events.contains { if case .opened = $0 { true } else { false } }
            guard case .closed(let closure) = events.last, let error = closure.error, !opened else {
                return #expect(Bool(false), "\(events)")
            }
            #expect(error.code == .invalidURL && error.underlying is URLProblem)
            #expect(error.description.hasPrefix("alternatives[\(index)]: ") && !error.description.contains("secret"))
        }
    }

    #if os(Linux)
        @Test func `the interfaces of this machine are read`() throws {
            let loopback = try #require(NetworkInterface.present().first { $0.name == "lo" })
            #expect(loopback.kind == .loopback && loopback.addresses.contains("127.0.0.1"))
        }

        @Test func `a source polls the interfaces and reports changes`() async throws {
            let polls = LockedValue(0)
            let source = LinuxPathSource(every: .milliseconds(100)) {
                let poll = polls.withLockedValue { polls in
                    polls += 1
                    return polls
                }
                return poll.isMultiple(of: 3) ? [] : [NetworkInterface("eth0", .wired, addresses: ["10.0.0.2"])]
            }
            var updates = source.updates().makeAsyncIterator()
            for _ in 1...2 {
                #expect(await updates.next() == .satisfied(Self.home))
                #expect(await updates.next() == .unsatisfied)
            }
        }
    #endif
}
