import Holdfast
import NIOCore
import NIOEmbedded
import WebSocketCore
import WebSocketNIO
import WebSocketRuntime

extension Wire {
    /// The number of frames in a read.
    private static let burst = 16
    /// The number of frames sent at once, large enough that rare work does not count.
    private static let sendBurst = 1024

    /// Bytes in and out without WebSocket: the cost of the channel in memory.
    static func echoBytes(size: Int, messages: Int) throws {
        let channel = try EmbeddedChannel.connected()
        try channel.pipeline.syncOperations.addHandler(ByteEcho())
        let frames = Frames.burst(burst, .binary, size: size, isMasked: true)
        try echo(through: channel, frames, answer: frames, messages: messages)
    }

    /// In and out through a server's ``InlineHandler``.
    static func echoInline(size: Int, messages: Int) throws {
        let wire = try Wire(.server, inline: Echo())
        try wire.echo(size: size, messages: messages)
    }

    /// In and out through a server's task on the event loop, as apps write it.
    static func echoInTask(size: Int, messages: Int) throws {
        let wire = try Wire(.server)
        let connection = WebSocketConnection(wire.socket)
        wire.socket.loop.assumeIsolated { loop in
            _ = Task {
                // Starts on `loop` and stays there, so no other thread is involved.
                _ = loop
                for try await message in connection.messages { try await connection.send(message) }
            }
        }
        wire.channel.embeddedEventLoop.run()
        try wire.echo(size: size, messages: messages)
    }

    /// Into a client's ``InlineHandler``.
    static func receiveInline(size: Int, messages: Int) throws {
        let handler = Counter()
        let wire = try Wire(.client, inline: handler)
        let frames = ByteBuffer(bytes: Frames.burst(burst, .binary, size: size, isMasked: false))
        for _ in 0..<(messages / burst) { try wire.channel.writeInbound(frames) }
        try Failure.check("bytes received", handler.byteCount, messages * size)
    }

    /// Out of an ``InlineSocket``: the cost of frames that are written into one buffer.
    static func send(as role: Role, size: Int, messages: Int) throws {
        let handler = Counter()
        let wire = try Wire(role, inline: handler)
        let payload = Frames.payload(size)
        let length = FrameHeader(.binary, mask: role == .client ? MaskKey(bits: 0) : nil, payloadLength: size).length + size
        for _ in 0..<(messages / sendBurst) {
            payload.withUnsafeBytes { bytes in
                for _ in 0..<sendBurst { handler.socket?.send(.binary, bytes.bytes) }
            }
            wire.channel.embeddedEventLoop.run()
            try Failure.check("bytes sent", wire.channel.drain(), sendBurst * length)
        }
    }

    private func echo(size: Int, messages: Int) throws {
        try Self.echo(
            through: channel, Frames.burst(Self.burst, .binary, size: size, isMasked: true),
            answer: Frames.burst(Self.burst, .binary, size: size, isMasked: false), messages: messages)
    }

    private static func echo(through channel: EmbeddedChannel, _ frames: [UInt8], answer: [UInt8], messages: Int) throws {
        // The first burst is compared. Then the same buffer is used again, although its payload is unmasked in place each time.
        let frames = ByteBuffer(bytes: frames)
        try channel.writeInbound(frames)
        var first: [UInt8] = []
        _ = try channel.drain { first += $0.readableBytesView }
        try Failure.check("the first answer", first, answer)
        var byteCount = 0
        for _ in 0..<(messages / burst) {
            try channel.writeInbound(frames)
            byteCount += try channel.drain()
        }
        try Failure.check("bytes echoed", byteCount, messages / burst * answer.count)
    }
}

/// Sends everything back.
private final class Echo: InlineHandler {
    func received(_ kind: MessageKind, _ bytes: RawSpan, on socket: InlineSocket) { socket.send(kind, bytes) }
}

/// Counts the received bytes, and gives access to its socket.
private final class Counter: InlineHandler {
    private(set) var byteCount = 0
    private(set) var socket: InlineSocket?

    func opened(_ socket: InlineSocket) { self.socket = socket }
    func received(_ kind: MessageKind, _ bytes: RawSpan, on socket: InlineSocket) { byteCount += bytes.byteCount }
}

/// Sends every message back.
private final class ByteEcho: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.write(data, promise: nil) }
    func channelReadComplete(context: ChannelHandlerContext) { context.flush() }
}
