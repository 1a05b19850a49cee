import Holdfast
import NIOCore
import NIOEmbedded
import Testing

@testable import HoldfastTesting

/// The server's end of a connection, on a channel in memory.
@Suite struct ScriptedLineHandlerTests {
    private let channel = EmbeddedChannel()
    private let calls = RelayCalls()
    private let handler: ScriptedLineHandler

    init() throws {
        handler = ScriptedLineHandler(on: channel.eventLoop) { _ in }
        try channel.pipeline.syncOperations.addHandlers([calls, handler])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    private func receive(_ frames: [(Opcode, [UInt8])]) throws {
        let bytes = frames.flatMap { ServerFrame.frame($0.0, $0.1, mask: MaskKey(bits: 0x1234_5678)) }
        try channel.writeInbound(ByteBuffer(bytes: bytes))
    }

    private func next() throws -> ScriptedInput { try handler.next(within: .seconds(30)).wait() }

    private func request() throws {
        try channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        guard case .request = try next() else { throw CancellationError() }
    }

    @Test func `input is handled only when the script asks, so a step applies to all later input`() throws {
        try request()
        try receive([(.text, [0x68]), (.ping, [1]), (.ping, [2])])
        guard case .message(.text("h")) = try next() else { throw CancellationError() }
        handler.answersPings = false
        guard case .ping([1]) = try next() else { throw CancellationError() }
        #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)
        handler.answersPings = true
        guard case .ping([2]) = try next() else { throw CancellationError() }
        #expect(try channel.readOutbound(as: ByteBuffer.self) == ByteBuffer(bytes: [0x8A, 1, 2]))
    }

    @Test func `while the script waits, input is handled and kept for the script`() throws {
        try request()
        handler.isListening = true
        try receive([(.text, [0x68]), (.ping, [1])])
        #expect(try channel.readOutbound(as: ByteBuffer.self) == ByteBuffer(bytes: [0x8A, 1, 1]))
        handler.isListening = false
        guard case .message(.text("h")) = try next() else { throw CancellationError() }
    }

    @Test(arguments: [true, false]) func `the handler stops reading while the script does not keep up`(isListening: Bool) throws {
        try request()
        handler.isListening = isListening
        for _ in 1...16 { try receive([(.binary, [UInt8](repeating: 0, count: 65_536))]) }
        let reads = calls.reads
        try receive([(.binary, [0])])
        #expect(calls.reads == reads, "1 MiB waits, so the handler stops reading")
        for _ in 1...17 {
            guard case .message = try next() else { throw CancellationError() }
        }
        #expect(calls.reads > reads)
    }

    @Test func `messages before the end are delivered, then the end`() throws {
        try request()
        try receive([(.text, [0x68])])
        channel.close(promise: nil)
        channel.embeddedEventLoop.run()
        guard case .message = try next(), case .end = try next() else { throw CancellationError() }
    }
}
