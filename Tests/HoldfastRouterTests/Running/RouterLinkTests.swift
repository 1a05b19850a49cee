import CodecCore
import HoldfastServer
import HoldfastTesting
import NIOCore
import Testing
import WAMPCore
import WebSocketCore
import WebSocketNIO

@testable import HoldfastRouter

/// How much is taken of one client.
@Suite(.timeLimit(.minutes(1))) struct RouterLinkTests {
    /// Takes all, and knows whether more may come.
    ///
    /// SAFETY: touched on the event loop of its link only, but for what is constant.
    private final class Exit: LinkOutput, @unchecked Sendable {
        let resumed: EventLoopPromise<Void>
        var isPaused = false
        /// Whether it takes what it is told.
        var takes = true

        init(_ loop: any EventLoop) { resumed = loop.makePromise() }

        func send(_ message: WrittenMessage) -> Bool { takes }
        func close(_ frame: CloseFrame, by deadline: NIODeadline) {}
        func abort() {}
        func hasJoined() {}
        func pause() { isPaused = true }
        func resume() {
            isPaused = false
            resumed.succeed()
        }
    }

    /// Whether more may come after each of some messages that come at once; then waits until more may come.
    private func pauses(_ messages: [WAMPMessage], _ configuration: WAMPRouterConfiguration = .quiet) async throws -> [Bool] {
        let router = WAMPRouter(configuration, clock: ManualClock(), seed: 1)
        let port = try #require(router.core.host.port(number: 0))
        let exit = Exit(port.loop)
        let pauses = try await port.loop.submit {
            let link = RouterLink(.json, transport: ValueMap(), at: port)
            link.opened(exit)
            return messages.map { message in
                link.heard(.success(message), bytes: 50)
                return exit.isPaused
            }
        }.get()
        if pauses.last == true { try await exit.resumed.futureResult.get() } else { exit.resumed.succeed() }
        return withExtendedLifetime(router) { pauses }
    }

    @Test func `nothing more is taken of a client that says more than the router has looked at, until it has`() async throws {
        let publication = WAMPMessage.publish(request: 1, options: ValueMap(), topic: "a", .none)
        let configuration = WAMPRouterConfiguration.quiet { $0.limits.unheard = 1000 }
        #expect(try await pauses([WAMPMessage](repeating: publication, count: 4), configuration) == [false, false, false, true])
    }

    @Test func `requests that bring about far more than they say are taken a few at a time`() async throws {
        let plain = WAMPMessage.subscribe(request: 1, options: ["match": "prefix"], topic: "")
        #expect(try await !pauses([WAMPMessage](repeating: plain, count: 100)).contains(true))
        let replay = WAMPMessage.subscribe(request: 1, options: ["match": "prefix", "get_retained": true], topic: "")
        #expect(try await pauses([WAMPMessage](repeating: replay, count: 5)).firstIndex(of: true) == 2)
        let history = WAMPMessage.call(request: 1, options: ValueMap(), procedure: "wamp.subscription.get_events", WAMPArguments([1]))
        #expect(try await pauses([WAMPMessage](repeating: history, count: 20)).firstIndex(of: true) == 15)
    }

    /// How many of so many messages of 32 KiB wait, for clients of an address that may have 256 KiB and 64 KiB for each client.
    private func kept(_ counts: [Int], by sharers: Int? = nil, from addresses: [String?]) async throws -> [Int] {
        let router = WAMPRouter(.quiet { $0.limits.waitingPerAddress = 256 << 10 }, clock: ManualClock(), seed: 1)
        let port = try #require(router.core.host.port(number: 0))
        let bytes = [UInt8](repeating: 0, count: 32 << 10)
        let written = sharers.map { WrittenMessage.shared(SharedMessage(.binary, bytes), by: $0) } ?? .own(.binary, bytes)
        return try await port.loop.submit {
            zip(counts, addresses).map { count, address in
                let (link, exit) = (RouterLink(.cbor, transport: ValueMap(), from: address, at: port), Exit(port.loop))
                exit.takes = false
                exit.resumed.succeed()
                link.opened(exit)
                let message = WAMPMessage.event(subscription: 1, publication: 1, details: ValueMap(), .none)
                return (0..<count).count { _ in link.notify(written, of: message, from: RouterConnection(9)) }
            }
        }.get()
    }

    @Test func `what waits for all clients of an address has a bound, and other addresses have theirs`() async throws {
        #expect(try await kept([6, 6, 6, 6], from: ["a", "a", "a", "b"]) == [6, 3, 1, 6])
        #expect(try await kept([6, 6, 6], from: [nil, nil, nil]) == [6, 6, 6])
    }

    @Test func `what many are told at once counts once`() async throws {
        #expect(try await kept([6, 6, 6], by: 3, from: ["a", "a", "a"]) == [6, 6, 6])
    }
}
