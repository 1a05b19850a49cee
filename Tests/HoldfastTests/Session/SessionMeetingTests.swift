import Metrics
import HoldfastTesting
import MetricsTestKit
import WebSocketRuntime
import Testing

@testable import Holdfast

/// Cases in which two parts of a session interact.
@Suite(.timeLimit(.minutes(1))) struct SessionMeetingTests {
    private struct Order: Codable { let number: Int }

    @Test func `an encoded value stays in the policy's queue as long as a message`() async throws {
        let stage = Stage(sending: .queue(10))
        try await stage.socket.send(value: Order(number: 1))
        let attempt = try #require(await stage.server.nextAttempt())
        stage.clock.advance(by: .seconds(3600))
        try await stage.socket.send(.text("last"))
        let peer = attempt.accept()
        #expect(try await peer.texts(2) == [#"{"number":1}"#, "last"])
    }

    @Test func `an unlimited timeout of a request, a send or a ping does not overflow`() async throws {
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

    @Test func `a released socket's queue no longer counts in the queue depth`() async throws {
        let sight = Sight()
        await Task {
            let stage = sight.stage { $0.sending = .queue(10) }
            for number in 1...3 { _ = try? await stage.socket.send(.text("\(number)")) }
            #expect(await Sight.eventually { sight.meter("queue_depth") == 3 })
            withExtendedLifetime(stage) {}
        }.value
        #expect(await Sight.eventually { sight.meter("queue_depth") == 0 })
    }

    @Test func `closing while a credential is fetched is not a failure of the fetch`() async throws {
        let sight = Sight()
        let (fetches, fetched) = AsyncStream.makeStream(of: Void.self)
        let stage = sight.stage { options in
            options.credentials = .bearer {
                fetched.yield()
                try await Task.sleep(for: .seconds(1000))
                return Credential("late")
            }
        }
        for await _ in fetches { break }
        await stage.socket.close()
        var reader = stage.eventReader()
        #expect(await reader.next() == .closed(nil))
        #expect(stage.socket.statistics.failures == [:])
        #expect(sight.count("errors", [("kind", "noCredential")]) == 0)
    }

    @Test func `the server's close is reported even while the next credential is fetched`() async throws {
        let (fetchEvents, fetched) = AsyncStream.makeStream(of: Void.self)
        let tokens = SessionCredentialTests.Tokens(life: .seconds(100))
        let stage = Stage { options in
            options.credentials = .bearer {
                let token = try tokens.next()
                fetched.yield()
                if tokens.count > 1 { try await Task.sleep(for: .seconds(1000)) }
                return token
            }
        }
        var fetches = fetchEvents.makeAsyncIterator()
        var reader = stage.eventReader()
        let peer = try await stage.accept()
        #expect(await reader.next() == .opened)
        await fetches.next()
        stage.clock.advance(by: .seconds(99))
        await fetches.next()
        _ = await peer.close(CloseFrame(.protocolError))
        #expect(await reader.next() == .closed(.closed))
    }

    @Test func `after an abandoned hand-over the connection that stays is the current one`() async throws {
        for round in 0..<100 {
            let stage = Stage { $0.path = PathPolicy(handsOver: true) }
            let first = try await stage.connect()
            try await stage.socket.send(.text("over the first"))
            _ = try await first.texts(1)
            stage.clock.advance(by: .seconds(12))
            await stage.socket.notify(.betterPathAvailable)
            let attempt = try #require(await stage.server.nextAttempt())
            // The second connection opens while the network is lost, and the session gets the two events in either order.
            let notifying = Task { await stage.socket.notify(.unsatisfied) }
            for _ in 0..<round % 5 { await Task.yield() }
            let second = attempt.accept()
            await notifying.value
            #expect(await Sight.eventually { (first.closeRecord == nil) != (second.closeRecord == nil) }, "exactly one of them is closed")
            let (present, sentCount) = first.closeRecord == nil ? (first, 1) : (second, 0)
            #expect(await Sight.eventually { await (try? stage.socket.ping()) != nil })
            #expect(await Sight.eventually { stage.socket.statistics.connectionTraffic.messagesOut == sentCount })
            let driver = await stage.socket.session.sendDriver
            #expect(driver.offer(.text("at once")) != nil)
            #expect(try await present.texts(1) == ["at once"])
        }
    }

    /// Counts the messages it sees, and cancels the current task at the tenth.
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

    /// A socket whose peer has sent many messages that wait.
    private func flooded(_ flood: Flood) async throws -> (Stage, MemoryTransport) {
        let stage = Stage { $0.codec = flood }
        let peer = try await stage.connect()
        for number in 0..<100 { try await peer.send(.text("\(number)")) }
        _ = try await peer.ping(timeout: .seconds(20))
        return (stage, peer)
    }

    @Test func `a cancelled request ends even while many other messages wait`() async throws {
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

    @Test func `a cancelled typed stream ends even while many undecodable messages wait`() async throws {
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

    @Test func `a released socket leaves no session and no event hub`() async throws {
        #expect(
            await isFreed { weak in
                let stage = Stage(sending: .queue(10))
                (weak.session, weak.hub) = (stage.socket.session, stage.socket.hub)
                let receipt = try? await stage.socket.send(tracked: .text("a"))
                _ = receipt
            }, "while connecting")
        #expect(
            try await isFreed { weak in
                let stage = Stage()
                (weak.session, weak.hub) = (stage.socket.session, stage.socket.hub)
                let peer = try await stage.connect()
                try await peer.send(.text("unread"))
                _ = try await stage.socket.ping()
                let receipt = try await stage.socket.send(tracked: .text("a"))
                _ = await receipt.outcome()
            }, "while connected")
        #expect(
            try await isFreed { weak in
                let stage = Stage()
                (weak.session, weak.hub) = (stage.socket.session, stage.socket.hub)
                let peer = try await stage.connect()
                var a: WebSocketEvents.AsyncIterator? = stage.socket.events(buffering: .latest).makeAsyncIterator()
                var b: WebSocketEvents.AsyncIterator? = stage.socket.events(buffering: .suspend(capacity: 1)).makeAsyncIterator()
                // The second consumer does not get events from before it subscribed.
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
            }, "with connections without a reading consumer")
    }
}
