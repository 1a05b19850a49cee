import Metrics
import HoldfastTesting
import MetricsTestKit
import WebSocketRuntime
import Testing

@testable import Holdfast

/// Where two parts of a session meet.
@Suite(.timeLimit(.minutes(1))) struct SessionMeetingTests {
    private struct Order: Codable { let number: Int }

    @Test func `a value is kept by the policy's queue as long as a message is`() async throws {
        let stage = Stage(sending: .queue(10))
        try await stage.socket.send(value: Order(number: 1))
        let attempt = try #require(await stage.server.nextAttempt())
        stage.clock.advance(by: .seconds(3600))
        try await stage.socket.send(.text("last"))
        let peer = attempt.accept()
        #expect(try await peer.texts(2) == [#"{"number":1}"#, "last"])
    }

    @Test func `a request without a limit waits for its answer`() async throws {
        let server = MemoryServer()
        let socket = WebSocket(clock: ContinuousClock()) { attempt async throws(WebSocketError) in try await server.connect(attempt) }
        let peer = try #require(await server.nextAttempt()).accept()
        for forever in [Duration.seconds(Int64.max), .seconds(Int64.max / 2), .seconds(Int64.max / 4)] {
            async let answer = socket.request(.text("?"), matching: { $0 }, timeout: forever)
            _ = try await peer.texts(1)
            try await peer.send(.text("!"))
            #expect(try await answer == .text("!"))
            try await socket.send(.text("."), timeout: forever)
            _ = try await peer.texts(1)
            #expect(try await socket.ping(timeout: forever) >= .zero)
        }
    }

    @Test func `what a socket still had in its queue is not counted when it is let go of`() async throws {
        let sight = Sight()
        await Task {
            let stage = sight.stage { $0.sending = .queue(10) }
            for number in 1...3 { _ = try? await stage.socket.send(.text("\(number)")) }
            #expect(await Sight.eventually { sight.meter("queue_depth") == 3 })
            withExtendedLifetime(stage) {}
        }.value
        #expect(await Sight.eventually { sight.meter("queue_depth") == 0 })
    }

    @Test func `closing while a credential is being fetched is no failure to get one`() async throws {
        let sight = Sight()
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let stage = sight.stage { options in
            options.credentials = .bearer {
                ask.yield()
                try await Task.sleep(for: .seconds(1000))
                return Credential("late")
            }
        }
        for await _ in asked { break }
        await stage.socket.close()
        var story = stage.story()
        #expect(await story.next() == .closed(nil))
        #expect(stage.socket.statistics.failures == [:])
        #expect(sight.count("errors", [("kind", "noCredential")]) == 0)
    }

    @Test func `why the server ended it is told, also while a credential is being fetched ahead`() async throws {
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let tokens = SessionCredentialTests.Tokens(life: .seconds(100))
        let stage = Stage { options in
            options.credentials = .bearer {
                let token = try tokens.next()
                ask.yield()
                if tokens.count > 1 { try await Task.sleep(for: .seconds(1000)) }
                return token
            }
        }
        var fetches = asked.makeAsyncIterator()
        var story = stage.story()
        let peer = try await stage.accept()
        #expect(await story.next() == .opened)
        await fetches.next()
        stage.clock.advance(by: .seconds(99))
        await fetches.next()
        _ = await peer.close(CloseFrame(.protocolError))
        #expect(await story.next() == .closed(.closed))
    }

    @Test func `the connection that stays when a hand-over is given up is the present one`() async throws {
        for round in 0..<100 {
            let stage = Stage { $0.path = PathPolicy(handsOver: true) }
            let first = try await stage.connect()
            try await stage.socket.send(.text("over the first"))
            _ = try await first.texts(1)
            stage.clock.advance(by: .seconds(12))
            await stage.socket.notify(.betterPathAvailable)
            let attempt = try #require(await stage.server.nextAttempt())
            // The second opens just when the network goes: the session hears of one before the other, now this, now that.
            let telling = Task { await stage.socket.notify(.unsatisfied) }
            for _ in 0..<round % 5 { await Task.yield() }
            let second = attempt.accept()
            await telling.value
            #expect(await Sight.eventually { (first.closeRecord == nil) != (second.closeRecord == nil) }, "one of them is closed")
            let (present, carried) = first.closeRecord == nil ? (first, 1) : (second, 0)
            #expect(await Sight.eventually { await (try? stage.socket.ping()) != nil })
            #expect(await Sight.eventually { stage.socket.statistics.connectionTraffic.messagesOut == carried })
            let driver = await stage.socket.session.sendDriver
            #expect(driver.offer(.text("at once")) != nil)
            #expect(try await present.texts(1) == ["at once"])
        }
    }

    /// What looks at message after message, and at the tenth ends the task that it is called from.
    private final class Flood: Sendable, MessageCodec {
        private let seen = LockedValue(0)
        var count: Int { seen.withLockedValue(\.self) }

        func see() {
            let count = seen.withLockedValue { seen in
                seen += 1
                return seen
            }
            if count == 10 { withUnsafeCurrentTask { $0?.cancel() } }
        }

        let name = "flood"

        func encode<Value: Encodable>(_ value: Value) throws -> Message { .text("") }

        func decode<Value: Decodable>(_ type: Value.Type, from payload: RawSpan, _ kind: MessageKind) throws -> Value {
            see()
            throw CancellationError()
        }
    }

    /// A socket whose peer has sent much that is at hand at once.
    private func flooded(_ flood: Flood) async throws -> (Stage, MemoryTransport) {
        let stage = Stage { $0.codec = flood }
        let peer = try await stage.connect()
        for number in 0..<100 { try await peer.send(.text("\(number)")) }
        _ = try await peer.ping(timeout: .seconds(20))
        return (stage, peer)
    }

    @Test func `a request that is given up is over, however much the peer sends that is no answer`() async throws {
        let flood = Flood()
        let (stage, peer) = try await flooded(flood)
        let refusal = await code { () async throws(WebSocketError) in
            _ = try await stage.socket.request(
                .text("?"),
                matching: { (_: Message) -> Int? in
                    flood.see()
                    return nil
                })
        }
        #expect(refusal == .cancelled)
        #expect(flood.count == 10)
        withExtendedLifetime(peer) {}
    }

    @Test func `a typed stream that is cancelled ends, however much the peer sends that is no such value`() async throws {
        let flood = Flood()
        let (stage, peer) = try await flooded(flood)
        try await Task {
            for try await _ in stage.socket.stream(of: Order.self) {}
        }.value
        #expect(flood.count == 10)
        withExtendedLifetime(peer) {}
    }

    private final class Weak {
        weak var session: LiveSession?
        weak var hub: EventHub?
    }

    private func isFreed(_ body: @Sendable (Weak) async throws -> Void) async rethrows -> Bool {
        let weak = Weak()
        try await body(weak)
        return await Sight.eventually { weak.session == nil && weak.hub == nil }
    }

    @Test func `a socket that is let go of leaves nothing behind`() async throws {
        #expect(
            await isFreed { weak in
                let stage = Stage(sending: .queue(10))
                (weak.session, weak.hub) = (stage.socket.session, stage.socket.hub)
                let receipt = try? await stage.socket.send(tracked: .text("a"))
                _ = receipt
            }, "connecting")
        #expect(
            try await isFreed { weak in
                let stage = Stage()
                (weak.session, weak.hub) = (stage.socket.session, stage.socket.hub)
                let peer = try await stage.connect()
                try await peer.send(.text("unread"))
                _ = try await stage.socket.ping()
                let receipt = try await stage.socket.send(tracked: .text("a"))
                _ = await receipt.outcome()
            }, "connected")
        #expect(
            try await isFreed { weak in
                let stage = Stage()
                (weak.session, weak.hub) = (stage.socket.session, stage.socket.hub)
                let peer = try await stage.connect()
                var a: WebSocketEvents.AsyncIterator? = stage.socket.events(buffering: .latest).makeAsyncIterator()
                var b: WebSocketEvents.AsyncIterator? = stage.socket.events(buffering: .suspend(capacity: 1)).makeAsyncIterator()
                // What is told before the second listens is not told to it.
                try await peer.send(.text("read"))
                _ = await b?.next()
                _ = await a?.next()
                try await peer.send(.text("unread"))
                (a, b) = (nil, nil)
            }, "with a pump")
        #expect(
            try await isFreed { weak in
                let stage = Stage()
                (weak.session, weak.hub) = (stage.socket.session, stage.socket.hub)
                for _ in 0..<3 {
                    let peer = try await stage.accept()
                    try await peer.send(.text("unread"))
                    _ = try await peer.ping(timeout: .seconds(20))
                    peer.cut()
                    await stage.pause()
                }
            }, "with connections that nobody has read")
    }
}
