import Holdfast
import HoldfastTesting
import WebSocketRuntime
import Testing

@Suite(.timeLimit(.minutes(1))) struct SessionCloseTests {
    @Test func `a peer that closes with 1000 ends it in peace`() async throws {
        let stage = Stage()
        var story = stage.story()
        let peer = try await stage.accept()
        try await peer.send(.text("bye"))
        #expect(await peer.close(CloseFrame(.normal)).isClean)
        #expect(await story.next() == .opened)
        #expect(await story.next() == .message(.text("bye")))
        #expect(await story.next() == .closed(nil))
        #expect(await story.next() == nil)
        #expect(await story.next() == nil)
    }

    @Test(arguments: [true, false])
    func `in a task that is cancelled it shakes hands, too`(forGood: Bool) async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        try await stage.socket.send(.text("last words"))
        let (code, socket) = (CloseCode(rawValue: 4002), stage.socket)
        let closing = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            if forGood { await socket.close(code: code) } else { await socket.disconnect(code: code) }
        }
        #expect(try await peer.receive() == .message(.text("last words")))
        guard case .failure(let error) = await peer.ended() else { throw CancellationError() }
        #expect(error.record?.received == CloseFrame(code))
        await closing.value
        await stage.state { state in
            switch state {
            case .closed(nil): forGood
            case .disconnected(nil): !forGood
            default: false
            }
        }
    }

    @Test func `what it has parted with may say its last words when it is closed`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        try await stage.socket.send(.text("last words"))
        let leaving = Task { await stage.socket.disconnect(code: CloseCode(rawValue: 4001)) }
        await stage.state { if case .disconnected = $0 { true } else { false } }
        let closing = Task { await stage.socket.close() }
        await stage.state { if case .closing = $0 { true } else { false } }
        #expect(try await peer.receive() == .message(.text("last words")))
        guard case .failure(let error) = await peer.ended() else { throw CancellationError() }
        #expect(error.record?.received == CloseFrame(CloseCode(rawValue: 4001)))
        await leaving.value
        await closing.value
    }

    @Test(arguments: [CloseCode.policyViolation, .invalidPayload, CloseCode(rawValue: 4001)])
    func `a peer that closes for a reason that stays ends it with an error`(_ code: CloseCode) async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        _ = await peer.close(CloseFrame(code, reason: "because"))
        var last: WebSocketEvent?
        for await event in stage.socket.events { last = event }
        guard case .closed(let closure)? = last, let error = closure.error else { throw CancellationError() }
        #expect(error.code == .closed && error.closeRecord?.received == CloseFrame(code, reason: "because"))
    }

    @Test(arguments: [TransportError.refused(403), TransportError(.tls, "unknown authority"), TransportError(.invalidHandshake, "no")])
    func `an attempt that cannot get better is the last`(_ error: TransportError) async throws {
        let stage = Stage()
        var story = stage.story()
        try await stage.refuse(error)
        #expect(await story.next() == .closed(error.code))
        #expect(await story.next() == nil)
    }

    @Test func `a bad URL ends it at once`() async {
        var story = Story(events: WebSocket("http://example.com/").events.makeAsyncIterator())
        #expect(await story.next() == .closed(.invalidURL))
        #expect(await story.next() == nil)
    }

    @Test func `it gives up when the policy says so, and says why`() async throws {
        let stage = Stage(ReconnectPolicy(backoff: Stage.policy.backoff, maximumAttempts: 3))
        var story = stage.story()
        for attempt in 2...3 {
            try await stage.refuse()
            #expect(await story.next() == .reconnecting(attempt: attempt, delay: await stage.pause(), .unreachable))
        }
        try await stage.refuse(.refused(502))
        #expect(await story.next() == .closed(.refused))
        #expect(await story.next() == nil)
    }

    @Test func `closing an open one shakes hands, and hands over what came before`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        try await peer.send(.text("before"))
        var story = stage.story()
        #expect(await story.next() == .opened)
        #expect(await story.next() == .message(.text("before")))
        try await stage.socket.send(.text("last words"))
        await stage.socket.close(code: CloseCode(rawValue: 4002), reason: "done")
        #expect(try await peer.receive() == .message(.text("last words")))
        guard case .failure(let error) = await peer.ended() else { throw CancellationError() }
        #expect(error.record?.received == CloseFrame(CloseCode(rawValue: 4002), reason: "done"))
        #expect(await story.next() == .closed(nil))
        #expect(await story.next() == nil)
        await stage.socket.close()
        #expect(stage.attempts.total == 1)
    }

    @Test func `a task that runs the socket closes it with 1001 when it is cancelled`() async throws {
        let stage = Stage()
        var story = stage.story()
        let peer = try await stage.accept()
        #expect(await story.next() == .opened)
        let running = Task { try await stage.socket.run() }
        running.cancel()
        #expect(try await peer.ended().get().received?.code == .goingAway)
        try await running.value
        #expect(await story.next() == .closed(nil))
    }

    @Test func `running ends with the socket, and throws what ended it`() async throws {
        let stage = Stage(ReconnectPolicy(backoff: Stage.policy.backoff, maximumAttempts: 1))
        let running = Task { await code { () async throws(WebSocketError) in try await stage.socket.run() } }
        try await stage.refuse(.refused(502))
        #expect(await running.value == .refused)

        let closed = Stage()
        let peaceful = Task { try await closed.socket.run() }
        await closed.socket.close()
        try await peaceful.value
    }

    @Test func `closing while it connects gives up the attempt`() async throws {
        let stage = Stage()
        var story = stage.story()
        let attempt = try #require(await stage.server.nextAttempt())
        await stage.socket.close()
        await attempt.ended()
        #expect(await story.next() == .closed(nil))
        guard case .failure = await attempt.accept().ended() else { throw CancellationError() }
    }

    @Test func `closing while it waits to connect ends the wait`() async throws {
        let stage = Stage()
        var story = stage.story()
        try await stage.refuse()
        #expect(await story.next() == .reconnecting(attempt: 2, delay: .seconds(1), .unreachable))
        await stage.clock.nextSleep()
        await stage.socket.close()
        #expect(await story.next() == .closed(nil))
        stage.clock.advance(by: .seconds(3600))
        #expect(await story.next() == nil)
        #expect(stage.attempts.total == 1)
    }

    @Test func `closing before anything has happened is fine`() async {
        let stage = Stage()
        var story = stage.story()
        await stage.socket.close()
        #expect(await story.next() == .closed(nil))
        #expect(await story.next() == nil)
    }

    @Test func `a link lost while closing starts nothing new`() async throws {
        let stage = Stage()
        var story = stage.story()
        let peer = try await stage.accept()
        #expect(await story.next() == .opened)
        peer.stall()
        let closing = Task { await stage.socket.close() }
        // The close frame waits on the link: what follows is sent after it.
        _ = await code { () async throws(WebSocketError) in
            while true { try await stage.socket.send(.text("is it closed?")) }
        }
        peer.cut()
        await closing.value
        #expect(await story.next() == .closed(nil))
        #expect(stage.attempts.total == 1)
    }

    @Test func `the last reference gone ends the attempt`() async throws {
        let (server, clock) = (MemoryServer(), ManualClock())
        var socket: WebSocket? = WebSocket(clock: clock, connect: server.connect)
        let attempt = try #require(await server.nextAttempt())
        weak let trace = socket
        socket = nil
        #expect(trace == nil)
        await attempt.ended()
    }

    @Test func `the last reference gone ends the connection`() async throws {
        let (server, clock) = (MemoryServer(), ManualClock())
        var socket: WebSocket? = WebSocket(clock: clock, connect: server.connect)
        let peer = try #require(await server.nextAttempt()).accept()
        try await socket?.send(.text("it is open"))
        #expect(try await peer.receive() == .message(.text("it is open")))
        weak let trace = socket
        socket = nil
        #expect(trace == nil)
        guard case .failure(let error) = await peer.ended() else { throw CancellationError() }
        #expect(error.code == .lost)
    }

    @Test func `a connection that comes when the last reference is gone is dropped`() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (client, peer) = MemoryTransport.pair()
        let handed = LockedValue<MemoryTransport?>(client)
        var socket: WebSocket? = WebSocket(clock: ManualClock()) { _ async throws(WebSocketError) in
            begin.yield()
            await Task { for await _ in gate {} }.value  // Pays no heed to cancellation.
            return WebSocketConnection(handed.withLockedValue { $0.take() } ?? MemoryTransport.pair().client)
        }
        for await _ in begun { break }
        #expect(socket != nil)
        socket = nil
        open.finish()
        withExtendedLifetime(client) {}
        guard case .failure(let error) = await peer.ended() else { throw CancellationError() }
        #expect(error.code == .lost)
    }

    @Test func `events keep it alive`() async throws {
        let (server, clock) = (MemoryServer(), ManualClock())
        var story = Story(events: WebSocket(clock: clock, connect: server.connect).events.makeAsyncIterator())
        try await #require(await server.nextAttempt()).accept().send(.text("alive"))
        #expect(await story.next() == .opened)
        #expect(await story.next() == .message(.text("alive")))
    }
}
