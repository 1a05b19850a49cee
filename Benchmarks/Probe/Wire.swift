import Holdfast
import NIOCore
import NIOEmbedded
import WebSocketCore
import WebSocketNIO
import WebSocketRuntime

/// A WebSocket after its handshake, on a channel and an event loop in memory: the whole hot path except the socket.
struct Wire {
    let channel: EmbeddedChannel
    let socket: WebSocketChannel

    init(_ role: Role, inline: (any InlineHandler)? = nil) throws {
        channel = try .connected()
        // TLS affects only channel options that this channel does not have.
        socket = try WebSocketChannel.install(
            on: channel, agreement: Agreement(response: ResponseHead(status: 101)), settings: ConnectionSettings(role: role),
            position: .last, isPlain: false, inline: inline)
    }
}

extension EmbeddedChannel {
    static func connected() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/probe")).wait()
        return channel
    }

    /// Takes the written bytes.
    ///
    /// Calls `body` with each part, and returns their number.
    func drain(_ body: (ByteBuffer) -> Void = { _ in }) throws -> Int {
        var byteCount = 0
        while let written = try readOutbound(as: ByteBuffer.self) {
            byteCount += written.readableBytes
            body(written)
        }
        return byteCount
    }
}
