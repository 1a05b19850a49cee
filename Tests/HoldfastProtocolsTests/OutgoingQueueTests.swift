import Holdfast
import HoldfastTesting
import HoldfastProtocols
import ProtocolCore
import MachineCore
import Testing
import WebSocketCore
import WebSocketRuntime

@Suite(.timeLimit(.minutes(1))) struct OutgoingQueueTests {
    private struct Unwritable: Error {}
    private let near: MemoryTransport
    /// Nobody reads here.
    private let far: MemoryTransport
    private let queue: OutgoingQueue<String>
    private let ends = LockedValue<[ConnectionEnd]>([])

    init() {
        var configuration = WebSocketConfiguration()
        configuration.limits.sendBuffer = 64
        configuration.limits.receiveBuffer = 64
        (near, far) = MemoryTransport.pair(configuration: configuration)
        let encode = { @Sendable (message: String) throws -> Message in
            guard !message.isEmpty else { throw Unwritable() }
            return .text(message)
        }
        queue = OutgoingQueue(WebSocketConnection(near), encode: encode) { [ends] end, _ in ends.withLockedValue { $0.append(end) } }
    }

    private func put(_ messages: String...) { for message in messages { queue.put(.message(message)) } }
    private var told: [ConnectionEnd] { ends.withLockedValue(\.self) }

    @Test func `what a connection that has ended does not take was never sent, and keeps nobody waiting`() async {
        near.cut()
        // The end is known a moment before the connection refuses what it is given.
        while (try? await near.send(.text("0"))) != nil {}
        put("1", "2")
        queue.drain()
        put("3")
        queue.drain()
        await queue.room(below: 1)
        #expect(queue.close().unsent == ["1", "2", "3"])
        #expect(queue.close().unsent == [])
    }

    @Test func `what a connection has taken was sent, whatever becomes of it`() async {
        put("1")
        queue.drain()
        near.cut()
        _ = await near.ended()
        #expect(queue.close().unsent == [])
    }

    @Test func `a message that waits for a connection when that ends was never sent, and no more were those behind it`() async throws {
        try fill()
        put("1", "2")
        queue.drain()
        put("3")
        queue.drain()
        near.cut()
        _ = await near.ended()
        // Nothing tells when the message that waited has come back.
        while queue.count < 3, !Task.isCancelled { await Task.yield() }
        #expect(queue.close().unsent == ["1", "2", "3"])
    }

    @Test func `an end does not wait for the messages before it that the connection does not take`() throws {
        try fill()
        put("1")
        queue.put(.end(.stop))
        queue.drain()
        #expect(told == [.stop])
    }

    @Test func `a stop that waits is known when the connection is gone`() throws {
        put("1")
        queue.put(.end(.reconnect(after: .zero, .normal, reason: "")))
        #expect(!queue.close().stops)
        let other = OutgoingQueue<String>(WebSocketConnection(near), encode: { .text($0) }, end: { _, _ in })
        other.put(.end(.stop))
        #expect(other.close().stops)
    }

    @Test func `a message that cannot be written ends the connection, and the others leave`() async throws {
        put("1", "", "2")
        queue.drain()
        #expect(told == [.reject(.internalError, reason: "a message cannot be written")])
        var messages = WebSocketConnection(far).messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("1"))
        #expect(try await messages.next() == .text("2"))
    }

    @Test func `a peer that takes nothing is cut once too much waits, and no more is kept`() throws {
        try fill()
        put("first")
        queue.drain()
        for _ in 0..<OutgoingLimits.all + 10 { put("x") }
        queue.drain()
        #expect(told == [.cut(reason: "the peer accepts nothing, and too many messages wait")])
        #expect(queue.count == OutgoingLimits.all)
    }

    @Test func `much that is ordered at once is no reason to cut a connection that was not asked yet`() {
        for _ in 0..<OutgoingLimits.all + 10 { put("x") }
        queue.put(.end(.stop))
        queue.drain()
        #expect(told == [.stop] && queue.count >= OutgoingLimits.all)
    }

    @Test func `waiting for room ends at its moment`() async throws {
        try fill()
        put("1")
        queue.drain()
        let clock = ManualClock()
        let time = LinkTime(clock)
        async let waiting: Void = queue.room(below: 1, until: time.now() + .seconds(5), on: time)
        clock.advance(by: await clock.nextSleep())
        await waiting
        #expect(queue.count == 0)
    }

    /// Leaves no room in the connection, and nobody reads at the other end.
    private func fill() throws {
        let long = Message.text(String(repeating: "x", count: 100))
        near.stall()
        var refusals = 0
        while refusals < 10_000 { refusals = try near.offer(long) ? 0 : refusals + 1 }
    }
}
