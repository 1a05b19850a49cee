import CodecCore
import HoldfastServer
import HoldfastTesting
import NIOCore
import Testing
import WAMPCore
import WebSocketCore
import WebSocketNIO

@testable import HoldfastRouter

/// Flow control for one client.
@Suite(.timeLimit(.minutes(1))) struct RouterLinkTests {
    /// Accepts every message and knows whether reading is paused.
    ///
    /// SAFETY: touched only on the event loop of its link, except for constants.
    private final class Exit: LinkOutput, @unchecked Sendable {
        let resumed: EventLoopPromise<Void>
        var isPaused = false
        /// Whether it accepts messages.
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

    /// Whether reading is paused after each of these messages; then waits until it resumes.
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

    @Test func `reading from a client pauses while the router has too many unhandled bytes`() async throws {
        let publication = WAMPMessage.publish(request: 1, options: ValueMap(), topic: "a", .none)
        let configuration = WAMPRouterConfiguration.quiet { $0.limits.unheard = 1000 }
        #expect(try await pauses([WAMPMessage](repeating: publication, count: 4), configuration) == [false, false, false, true])
    }

    @Test func `reading pauses after a few requests with large results`() async throws {
        let plain = WAMPMessage.subscribe(request: 1, options: ["match": "prefix"], topic: "")
        #expect(try await !pauses([WAMPMessage](repeating: plain, count: 100)).contains(true))
        let replay = WAMPMessage.subscribe(request: 1, options: ["match": "prefix", "get_retained": true], topic: "")
        #expect(try await pauses([WAMPMessage](repeating: replay, count: 5)).firstIndex(of: true) == 2)
        let history = WAMPMessage.call(request: 1, options: ValueMap(), procedure: "wamp.subscription.get_events", WAMPArguments([1]))
        #expect(try await pauses([WAMPMessage](repeating: history, count: 20)).firstIndex(of: true) == 15)
    }

    /// How many 32 KiB messages are queued for clients of an address with 256 KiB, of which each client gets 64 KiB.
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

    @Test func `the bytes queued for all clients of an address are limited, separately for each address`() async throws {
        #expect(try await kept([6, 6, 6, 6], from: ["a", "a", "a", "b"]) == [6, 3, 1, 6])
        #expect(try await kept([6, 6, 6], from: [nil, nil, nil]) == [6, 6, 6])
    }

    @Test func `a message that is shared by several clients counts once`() async throws {
        #expect(try await kept([6, 6, 6], by: 3, from: ["a", "a", "a"]) == [6, 6, 6])
    }
}
