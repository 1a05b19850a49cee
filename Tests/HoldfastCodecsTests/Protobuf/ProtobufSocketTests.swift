import Holdfast
import HoldfastProtobuf
import HoldfastTesting
import SwiftProtobuf
import Testing
import WebSocketCore

@Suite(.timeLimit(.minutes(1))) struct ProtobufSocketTests {
    let server = MemoryServer()
    let socket: WebSocket

    init() {
        let server = server
        socket = WebSocket(clock: ManualClock(), connect: server.connect)
    }

    private func peer() async throws -> MemoryTransport { try #require(await server.nextAttempt()).accept() }

    @Test func `a message is sent in the form of the codec, by default binary`() async throws {
        let peer = try await peer()
        try await socket.send(ProtoOrder.sample)
        try await socket.send(ProtoOrder.sample, as: ProtobufCodec(.json))
        #expect(try await peer.receive() == .message(ProtobufCodec().encode(ProtoOrder.sample)))
        #expect(try await peer.receive() == .message(ProtobufCodec(.json).encode(ProtoOrder.sample)))
    }

    @Test func `a message that cannot be encoded is not sent`() async throws {
        let peer = try await peer()
        let error = await #expect(throws: WebSocketError.self) { try await socket.send(ProtoFill()) }
        #expect(error?.code == .codec)
        try await socket.send(.text("next"))
        #expect(try await peer.receive() == .message(.text("next")))
    }

    @Test func `a stream delivers the peer's messages, and an undecodable one is an event of the connection`() async throws {
        var events = socket.events.makeAsyncIterator()
        var orders = socket.stream(of: ProtoOrder.self).makeAsyncIterator()
        let peer = try await peer()
        try await peer.send(.binary([0xFF]))
        try await peer.send(ProtobufCodec().encode(ProtoOrder.sample))
        #expect(try await orders.next() == .sample)
        _ = await peer.close(CloseFrame(.normal))
        #expect(try await orders.next() == nil)
        var undecodable: [UndecodableMessage] = []
        while let event = await events.next() { if case .undecodable(let message) = event { undecodable.append(message) } }
        #expect(undecodable.map(\.message) == [.binary([0xFF])])
        #expect(undecodable.map(\.type) == ["ProtoOrder"])
    }
}
