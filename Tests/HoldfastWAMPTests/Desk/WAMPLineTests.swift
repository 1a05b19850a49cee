import CodecCore
import Holdfast
import HoldfastTesting
import Testing
import WAMPCore
import WebSocketCore
import WebSocketRuntime

@testable import HoldfastWAMP

@Suite("Lines", .timeLimit(.minutes(1))) struct WAMPLineTests {
    private let near: MemoryTransport
    /// Nobody reads here.
    private let far: MemoryTransport
    private let line: WAMPLine
    private let partings = LockedValue<[WAMPParting]>([])

    init() {
        var configuration = WebSocketConfiguration()
        configuration.limits.sendBuffer = 64
        configuration.limits.receiveBuffer = 64
        (near, far) = MemoryTransport.pair(configuration: configuration)
        line = WAMPLine(WebSocketConnection(near), .json, WAMPTrace(WAMPOptions(), hiding: SessionSecrets())) { [partings] parting, _ in
            partings.withLockedValue { $0.append(parting) }
        }
    }

    private func put(_ messages: WAMPMessage...) { for message in messages { line.put(.message(message)) } }

    private static func call(_ request: WAMPID) -> WAMPMessage { .call(request: request, options: [:], procedure: "com.add", .none) }

    @Test("what a connection that has ended does not take never left, and keeps nobody waiting")
    func ended() async {
        near.cut()
        _ = await near.ended()
        put(Self.call(1), .subscribe(request: 2, options: [:], topic: "com.chat"))
        line.drain()
        put(Self.call(3), .publish(request: 4, options: [:], topic: "com.chat", .none))
        line.drain()
        await line.room(below: 1)
        #expect(line.end() == [1, 3, 4])
        #expect(line.end() == [])
    }

    @Test("what a connection has taken has left, whatever becomes of it")
    func taken() async {
        put(Self.call(1))
        line.drain()
        near.cut()
        _ = await near.ended()
        #expect(line.end() == [])
    }

    @Test("a message that waits for a connection when that ends never left, and no more did those behind it")
    func waiting() async throws {
        try fill()
        put(Self.call(1), Self.call(2))
        line.drain()
        put(Self.call(3))
        line.drain()
        near.cut()
        _ = await near.ended()
        // Nothing tells when the message that waited has come back.
        while line.count < 3, !Task.isCancelled { await Task.yield() }
        #expect(line.end() == [1, 2, 3])
    }

    @Test("a farewell does not wait for the messages before it that the connection does not take")
    func farewell() throws {
        try fill()
        put(.abort(details: [:], reason: WAMPURI.Error.protocolViolation, .none))
        line.put(.part(.stop))
        line.drain()
        #expect(partings.withLockedValue(\.self) == [.stop])
    }

    /// Leaves no room in the connection, and nobody reads at the other end.
    private func fill() throws {
        let long = Message.text(String(repeating: "x", count: 100))
        near.stall()
        var refusals = 0
        while refusals < 10_000 { refusals = try near.offer(long) ? 0 : refusals + 1 }
    }
}
