import Holdfast
import HoldfastTesting
import HoldfastProtocols
import ProtocolCore
import ProtocolStage
import MachineCore
import Testing
import WebSocketCore
import WebSocketRuntime

@Suite(.timeLimit(.minutes(1))) struct OutgoingQueueTests {
    private struct Unwritable: Error {}
    private let near: MemoryTransport
    /// This side is not read.
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
    private var reported: [ConnectionEnd] { ends.withLockedValue(\.self) }

    @Test func `messages that an ended connection does not accept count as unsent, and do not block`() async {
        near.cut()
        // The end is known a moment before the connection refuses messages.
        while (try? await near.send(.text("0"))) != nil {}
        put("1", "2")
        queue.drain()
        put("3")
        queue.drain()
        await queue.room(below: 1)
        #expect(queue.close().unsent == ["1", "2", "3"])
        #expect(queue.close().unsent == [])
    }

    @Test func `messages that a connection accepted count as sent, also after its loss`() async {
        put("1")
        queue.drain()
        near.cut()
        _ = await near.ended()
        #expect(queue.close().unsent == [])
    }

    @Test func `a message that waits when the connection ends counts as unsent, and so do later ones`() async throws {
        try fill()
        put("1", "2")
        queue.drain()
        put("3")
        queue.drain()
        near.cut()
        _ = await near.ended()
        // The message that waited comes back a moment later.
        await queue.changes.until { queue.count == 3 }
        #expect(queue.close().unsent == ["1", "2", "3"])
    }

    @Test func `an end does not wait for earlier messages that the connection does not accept`() throws {
        try fill()
        put("1")
        queue.put(.end(.stop))
        queue.drain()
        #expect(reported == [.stop])
    }

    @Test(arguments: [ConnectionEnd.stop, .disconnect])
    func `a waiting end of the socket is known after the connection is closed`(_ end: ConnectionEnd) throws {
        put("1")
        queue.put(.end(.reconnect(after: .zero, .normal, reason: "")))
        #expect(queue.close().end == nil)
        let other = OutgoingQueue<String>(WebSocketConnection(near), encode: { .text($0) }, end: { _, _ in })
        other.put(.end(end))
        #expect(other.close().end == end)
    }

    @Test func `a message that cannot be encoded ends the connection, and the others are sent`() async throws {
        put("1", "", "2")
        queue.drain()
        #expect(reported == [.reject(.internalError, reason: "a message cannot be written")])
        var messages = WebSocketConnection(far).messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("1"))
        #expect(try await messages.next() == .text("2"))
    }

    @Test func `a peer that accepts nothing is cut when too many messages wait, and later ones are dropped`() throws {
        try fill()
        put("first")
        queue.drain()
        for _ in 0..<OutgoingLimits.all + 10 { put("x") }
        queue.drain()
        #expect(reported == [.cut(reason: "the peer accepts nothing, and too many messages wait")])
        #expect(queue.count == OutgoingLimits.all)
    }

    @Test func `many messages at once do not cut a connection that was not tried yet`() {
        for _ in 0..<OutgoingLimits.all + 10 { put("x") }
        queue.put(.end(.stop))
        queue.drain()
        #expect(reported == [.stop] && queue.count >= OutgoingLimits.all)
    }

    @Test func `waiting for capacity ends at its deadline`() async throws {
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

    /// Fills the connection.
    ///
    /// The other end is not read.
    private func fill() throws {
        let long = Message.text(String(repeating: "x", count: 100))
        near.stall()
        var refusals = 0
        while refusals < 10_000 { refusals = try near.offer(long) ? 0 : refusals + 1 }
    }
}
