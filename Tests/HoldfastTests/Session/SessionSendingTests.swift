import Holdfast
import HoldfastTesting
import Testing

/// Messages that cannot be sent at once.
@Suite(.timeLimit(.minutes(2))) struct SessionSendingTests {
    @Test func `a queue keeps messages while there is no connection, and sends them by lane and in order`() async throws {
        let stage = Stage(sending: .queue(10))
        let lanes: [(String, Lane)] = [("b1", .bulk), ("n1", .normal), ("u1", .urgent), ("b2", .bulk), ("n2", .normal), ("u2", .urgent)]
        for (text, lane) in lanes { try await stage.socket.send(.text(text), lane: lane) }
        #expect(stage.socket.sendQueueDepth == SendVolume(count: 6, bytes: 12))
        let peer = try await stage.connect()
        #expect(try await peer.texts(6) == ["u1", "u2", "n1", "n2", "b1", "b2"])
        await stage.waiting(0)
        #expect(stage.socket.droppedSends == 0)
    }

    @Test func `a queue keeps the order of messages that are sent while the connection opens`() async throws {
        let stage = Stage(sending: .queue(1000))
        let sending = Task { for number in 0..<500 { try await stage.socket.send(.text("\(number)")) } }
        await stage.waiting { $0 >= 20 }
        let peer = try await stage.accept()
        #expect(try await peer.texts(500) == (0..<500).map(String.init))
        try await sending.value
    }

    @Test func `a full queue refuses a new message and reports it`() async throws {
        let stage = Stage(sending: .queue(2))
        var reader = stage.eventReader()
        for text in ["1", "2"] { try await stage.socket.send(.text(text)) }
        #expect(await stage.refusal(of: .text("3"), .urgent) == .queueFull)
        #expect(stage.socket.droppedSends == 1 && stage.socket.sendQueueDepth.count == 2)
        #expect(await reader.next() == .dropped(.text("3"), .overflow))
        let peer = try await stage.connect()
        #expect(try await peer.texts(2) == ["1", "2"])
    }

    @Test(arguments: [(SendPolicy.Overflow.dropOldest, "1", ["2", "3"]), (.dropNewest, "2", ["3", "1"])])
    func `a dropped message is reported, and its receipt has the outcome`(
        _ overflow: SendPolicy.Overflow, _ dropped: String, _ kept: [String]
    ) async throws {
        let stage = Stage(sending: .queue(2, overflow))
        var reader = stage.eventReader()
        var receipts: [String: SendReceipt] = [:]
        for text in ["1", "2"] { receipts[text] = try await stage.socket.send(tracked: .text(text), lane: .bulk) }
        try await stage.socket.send(.text("3"), lane: overflow == .dropOldest ? .bulk : .urgent)
        #expect(await reader.next() == .dropped(.text(dropped), .dropped))
        #expect(await receipts[dropped]?.outcome() == .refused(.dropped))
        #expect(stage.socket.droppedSends == 1)
        let peer = try await stage.connect()
        #expect(try await peer.texts(2) == kept)
    }

    @Test func `a message too large for the queue is refused, unless it can be sent at once`() async throws {
        let stage = Stage(sending: .queue(2))
        let large = Message.binary(Array(repeating: 1, count: 100_001))
        #expect(await stage.refusal(of: large) == .tooLarge)
        let peer = try await stage.connect()
        try await stage.socket.send(large)
        #expect(try await peer.message() == large)
    }

    @Test func `a queued message times out and is reported`() async throws {
        let stage = Stage(sending: .queue(10))
        var reader = stage.eventReader()
        let receipt = try await stage.socket.send(tracked: .text("soon"), timeout: .seconds(3))
        await stage.pause(of: .seconds(3))
        #expect(await receipt.outcome() == .refused(.timedOut))
        #expect(await reader.next() == .dropped(.text("soon"), .timedOut))
        #expect(stage.socket.droppedSends == 1 && stage.socket.sendQueueDepth == SendVolume())
    }

    @Test func `without a consumer the last drops are reported, and all are counted`() async throws {
        let stage = Stage(sending: .queue(1, .dropOldest))
        for number in 0...300 { try await stage.socket.send(.text("\(number)")) }
        #expect(stage.socket.droppedSends == 300)
        await stage.socket.close()
        await stage.state { if case .closed = $0 { true } else { false } }
        var reported: [Message] = []
        var missed = 0
        for await event in stage.socket.events {
            switch event {
            case .dropped(let dropped): reported.append(dropped.message)
            case .missed(let count): missed += count
            default: continue
            }
        }
        #expect(reported.last == .text("300") && !reported.contains(.text("0")))
        #expect(reported.count + missed >= 300)
    }

    @Test func `a policy without waiting refuses at once`() async throws {
        let stage = Stage(sending: SendPolicy(whileDisconnected: .fail))
        #expect(await stage.refusal(of: .text("early")) == .disconnected)
        let peer = try await stage.connect()
        try await stage.socket.send(.text("now"))
        #expect(try await peer.texts(1) == ["now"])
    }

    @Test func `the timeout of a call overrides that of the policy`() async throws {
        let stage = Stage(sending: SendPolicy(whileDisconnected: .wait(.seconds(5))))
        let longer = Task { await stage.refusal(of: .text("patient"), timeout: .seconds(8)) }
        await stage.waiting(1)
        let other = Task { await stage.refusal(of: .text("other")) }
        await stage.waiting(2)
        stage.clock.advance(by: .seconds(5))
        #expect(await other.value == .timedOut)
        await stage.waiting(1)
        stage.clock.advance(by: .seconds(3))
        #expect(await longer.value == .timedOut)
    }

    @Test func `with a zero timeout a message is sent at once or not at all`() async throws {
        let stage = Stage()
        #expect(await stage.refusal(of: .text("never"), timeout: .zero) == .timedOut)
        let peer = try await stage.connect()
        try await stage.socket.send(.text("now"), timeout: .zero)
        #expect(try await peer.texts(1) == ["now"])
    }

    @Test func `a message that timed out is withdrawn from a full connection`() async throws {
        let (stage, peer) = try await stalled()
        let sending = Task { await stage.refusal(of: .text("late"), timeout: .seconds(3)) }
        await stage.pause(of: .seconds(3))
        #expect(await sending.value == .timedOut)
        try await expectOnlyFirst(stage, peer)
    }

    @Test func `a cancelled message is withdrawn from a full connection`() async throws {
        let (stage, peer) = try await stalled()
        let sending = Task { await stage.refusal(of: .text("late")) }
        await stage.waiting(1)
        sending.cancel()
        #expect(await sending.value == .cancelled)
        try await expectOnlyFirst(stage, peer)
    }

    /// A connection that accepts no more: one message is being sent.
    private func stalled() async throws -> (Stage, MemoryTransport) {
        var configuration = WebSocketConfiguration()
        configuration.limits.sendBuffer = 10
        let stage = Stage(sending: SendPolicy(), configuration: configuration)
        let peer = try await stage.connect()
        peer.stall()
        try await stage.socket.send(.text("first"))
        return (stage, peer)
    }

    private func expectOnlyFirst(_ stage: Stage, _ peer: MemoryTransport) async throws {
        peer.resume()
        try await stage.socket.send(.text("last"))
        #expect(try await peer.texts(2) == ["first", "last"])
    }

    @Test func `urgent messages overtake those that wait for a full connection`() async throws {
        let (stage, peer) = try await stalled()
        let first = Task { try await stage.socket.send(.text("in hand"), lane: .bulk) }
        await stage.waiting(1)
        let second = Task { try await stage.socket.send(.text("bulk"), lane: .bulk) }
        await stage.waiting(2)
        let third = Task { try await stage.socket.send(.text("urgent"), lane: .urgent) }
        await stage.waiting(3)
        peer.resume()
        #expect(try await peer.texts(4) == ["first", "in hand", "urgent", "bulk"])
        for task in [first, second, third] { _ = try await task.value }
    }

    @Test func `waiting messages go to the next connection, once and in order`() async throws {
        let (stage, peer) = try await stalled()
        let first = Task { try await stage.socket.send(.text("1"), timeout: .seconds(3600)) }
        await stage.waiting(1)
        let second = Task { try await stage.socket.send(.text("2"), timeout: .seconds(3600)) }
        await stage.waiting(2)
        peer.cut()
        await stage.pause()
        let next = try await stage.accept()
        #expect(try await next.texts(2) == ["1", "2"])
        _ = (try await first.value, try await second.value)
        try await stage.socket.send(.text("3"))
        #expect(try await next.texts(1) == ["3"])
    }

    @Test func `closing refuses waiting messages at once and reports the queued ones`() async throws {
        let stage = Stage(sending: .queue(10))
        var reader = stage.eventReader()
        let receipt = try await stage.socket.send(tracked: .text("waits"))
        await stage.socket.close()
        #expect(await receipt.outcome() == .refused(.closed))
        #expect(await stage.refusal(of: .text("late")) == .closed)
        #expect(await reader.next() == .dropped(.text("waits"), .closed))
        #expect(await reader.next() == .closed(nil))
        #expect(stage.socket.sendQueueDepth == SendVolume() && stage.socket.droppedSends == 1)
    }

    @Test func `closing refuses waiting messages without waiting for a silent peer`() async throws {
        let (stage, peer) = try await stalled()
        let sending = Task { await stage.refusal(of: .text("waits")) }
        await stage.waiting(1)
        let closing = Task { await stage.socket.close() }
        #expect(await sending.value == .closed)
        peer.cut()
        await closing.value
    }

    @Test func `a final refusal by the server refuses waiting messages`() async throws {
        let stage = Stage()
        let sending = Task { await stage.refusal(of: .text("waits")) }
        await stage.waiting(1)
        try await stage.refuse(.refused(403))
        #expect(await sending.value == .closed)
    }

    @Test func `a released socket refuses waiting messages`() async throws {
        let (server, clock) = (MemoryServer(), ManualClock())
        var options = WebSocketOptions()
        options.sending = .queue(10)
        var socket: WebSocket? = WebSocket(options, clock: clock, connect: server.connect)
        let receipt = try await socket?.send(tracked: .text("waits"))
        socket = nil
        #expect(await receipt?.outcome() == .refused(.closed))
    }
}
