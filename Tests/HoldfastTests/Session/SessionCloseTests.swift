import Holdfast
import HoldfastTesting
import WebSocketRuntime
import Testing

@Suite(.timeLimit(.minutes(1))) struct SessionCloseTests {
    @Test func `a peer that closes with 1000 ends the socket without an error`() async throws {
        let stage = Stage()
        var reader = stage.eventReader()
        let peer = try await stage.accept()
        try await peer.send(.text("bye"))
        #expect(await peer.close(CloseFrame(.normal)).isClean)
        #expect(await reader.next() == .opened)
        #expect(await reader.next() == .message(.text("bye")))
        #expect(await reader.next() == .closed(nil))
        #expect(await reader.next() == nil)
        #expect(await reader.next() == nil)
    }

    @Test(arguments: [true, false])
    func `a close or disconnect from a cancelled task still performs the close handshake`(isFinal: Bool) async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        try await stage.socket.send(.text("last words"))
        let (code, socket) = (CloseCode(rawValue: 4002), stage.socket)
        let closing = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            if isFinal { await socket.close(code: code) } else { await socket.disconnect(code: code) }
        }
        #expect(try await peer.receive() == .message(.text("last words")))
        guard case .failure(let error) = await peer.ended() else { throw CancellationError() }
        #expect(error.record?.received == CloseFrame(code))
        await closing.value
        await stage.state { state in
            switch state {
            case .closed(nil): isFinal
            case .disconnected(nil): !isFinal
            default: false
            }
        }
    }

    @Test func `a close waits for the close handshake of an earlier disconnect`() async throws {
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
    func `a peer that closes with a permanent error code ends the socket with that error`(_ code: CloseCode) async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        _ = await peer.close(CloseFrame(code, reason: "because"))
        var last: WebSocketEvent?
        for await event in stage.socket.events { last = event }
        guard case .closed(let closure)? = last, let error = closure.error else { throw CancellationError() }
        #expect(error.code == .closed && error.closeRecord?.received == CloseFrame(code, reason: "because"))
    }

    @Test(arguments: [TransportError.refused(403), TransportError(.tls, "unknown authority"), TransportError(.invalidHandshake, "no")])
    func `an attempt with a permanent error is the last one`(_ error: TransportError) async throws {
        let stage = Stage()
        var reader = stage.eventReader()
        try await stage.refuse(error)
        #expect(await reader.next() == .closed(error.code))
        #expect(await reader.next() == nil)
    }

    @Test func `a bad URL ends the socket at once`() async {
        var reader = EventReader(events: WebSocket("http://example.com/").events.makeAsyncIterator())
        #expect(await reader.next() == .closed(.invalidURL))
        #expect(await reader.next() == nil)
    }

    @Test func `the socket gives up at the maximum number of attempts, with the last error`() async throws {
        let stage = Stage(ReconnectPolicy(backoff: Stage.policy.backoff, maximumAttempts: 3))
        var reader = stage.eventReader()
        for attempt in 2...3 {
            try await stage.refuse()
            #expect(await reader.next() == .reconnecting(attempt: attempt, delay: await stage.pause(), .unreachable))
        }
        try await stage.refuse(.refused(502))
        #expect(await reader.next() == .closed(.refused))
        #expect(await reader.next() == nil)
    }

    @Test func `closing an open socket performs the close handshake and delivers earlier messages`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        try await peer.send(.text("before"))
        var reader = stage.eventReader()
        #expect(await reader.next() == .opened)
        #expect(await reader.next() == .message(.text("before")))
        try await stage.socket.send(.text("last words"))
        await stage.socket.close(code: CloseCode(rawValue: 4002), reason: "done")
        #expect(try await peer.receive() == .message(.text("last words")))
        guard case .failure(let error) = await peer.ended() else { throw CancellationError() }
        #expect(error.record?.received == CloseFrame(CloseCode(rawValue: 4002), reason: "done"))
        #expect(await reader.next() == .closed(nil))
        #expect(await reader.next() == nil)
        await stage.socket.close()
        #expect(stage.attempts.total == 1)
    }

    @Test func `a cancelled task in run closes the socket with 1001`() async throws {
        let stage = Stage()
        var reader = stage.eventReader()
        let peer = try await stage.accept()
        #expect(await reader.next() == .opened)
        let running = Task { try await stage.socket.run() }
        running.cancel()
        #expect(try await peer.ended().get().received?.code == .goingAway)
        try await running.value
        #expect(await reader.next() == .closed(nil))
    }

    @Test func `run ends with the socket and throws its final error`() async throws {
        let stage = Stage(ReconnectPolicy(backoff: Stage.policy.backoff, maximumAttempts: 1))
        let running = Task { await code { () async throws(WebSocketError) in try await stage.socket.run() } }
        try await stage.refuse(.refused(502))
        #expect(await running.value == .refused)

        let closed = Stage()
        let runningClosed = Task { try await closed.socket.run() }
        await closed.socket.close()
        try await runningClosed.value
    }

    @Test func `closing while connecting cancels the attempt`() async throws {
        let stage = Stage()
        var reader = stage.eventReader()
        let attempt = try #require(await stage.server.nextAttempt())
        await stage.socket.close()
        await attempt.ended()
        #expect(await reader.next() == .closed(nil))
        guard case .failure = await attempt.accept().ended() else { throw CancellationError() }
    }

    @Test func `closing while waiting for an attempt ends the wait`() async throws {
        let stage = Stage()
        var reader = stage.eventReader()
        try await stage.refuse()
        #expect(await reader.next() == .reconnecting(attempt: 2, delay: .seconds(1), .unreachable))
        await stage.clock.nextSleep()
        await stage.socket.close()
        #expect(await reader.next() == .closed(nil))
        stage.clock.advance(by: .seconds(3600))
        #expect(await reader.next() == nil)
        #expect(stage.attempts.total == 1)
    }

    @Test func `a socket can be closed before it has done anything`() async {
        let stage = Stage()
        var reader = stage.eventReader()
        await stage.socket.close()
        #expect(await reader.next() == .closed(nil))
        #expect(await reader.next() == nil)
    }

    @Test func `a connection lost while closing starts no new attempt`() async throws {
        let stage = Stage()
        var reader = stage.eventReader()
        let peer = try await stage.accept()
        #expect(await reader.next() == .opened)
        peer.stall()
        let closing = Task { await stage.socket.close() }
        // The close frame waits on the stalled link, so messages that follow are sent after it.
        _ = await code { () async throws(WebSocketError) in
            while true { try await stage.socket.send(.text("is it closed?")) }
        }
        peer.cut()
        await closing.value
        #expect(await reader.next() == .closed(nil))
        #expect(stage.attempts.total == 1)
    }

    @Test func `releasing the last reference ends the attempt`() async throws {
        let (server, clock) = (MemoryServer(), ManualClock())
        var socket: WebSocket? = WebSocket(clock: clock, connect: server.connect)
        let attempt = try #require(await server.nextAttempt())
        weak let trace = socket
        socket = nil
        #expect(trace == nil)
        await attempt.ended()
    }

    @Test func `releasing the last reference ends the connection`() async throws {
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

    @Test func `a connection that opens after the last reference is released is dropped`() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (client, peer) = MemoryTransport.pair()
        let handed = LockedValue<MemoryTransport?>(client)
        var socket: WebSocket? = WebSocket(clock: ManualClock()) { _ async throws(WebSocketError) in
            begin.yield()
            await Task { for await _ in gate {} }.value  // This task ignores the cancellation.
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

    @Test func `the events sequence keeps the socket alive`() async throws {
        let (server, clock) = (MemoryServer(), ManualClock())
        var reader = EventReader(events: WebSocket(clock: clock, connect: server.connect).events.makeAsyncIterator())
        try await #require(await server.nextAttempt()).accept().send(.text("alive"))
        #expect(await reader.next() == .opened)
        #expect(await reader.next() == .message(.text("alive")))
    }
}
