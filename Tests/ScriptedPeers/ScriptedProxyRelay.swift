package import WebSocketRuntime
package import NIOCore
import NIOPosix

/// Opens the way to one port of this machine, whatever it is asked for, and passes on bytes.
package final class ScriptedProxyRelay: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    private let port: Int
    private let asked: LockedValue<[String]>
    private var request = ""
    private var server: (any Channel)?

    /// - Parameter asked: Is told the first line of each request.
    package init(to port: Int, _ asked: LockedValue<[String]>) { (self.port, self.asked) = (port, asked) }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if let server { return server.writeAndFlush(unwrapInboundIn(data), promise: nil) }
        request += String(buffer: unwrapInboundIn(data))
        guard request.hasSuffix("\r\n\r\n"), let line = request.split(separator: "\r\n").first else { return }
        asked.withLockedValue { $0.append(String(line)) }
        let client = context.channel
        ClientBootstrap(group: context.eventLoop)
            .channelInitializer { $0.pipeline.addHandler(WayBack(to: client)) }
            .connect(host: "127.0.0.1", port: port)
            .assumeIsolated().whenSuccess { [self] channel in
                server = channel
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\n")), promise: nil)
            }
    }

    package func channelInactive(context: ChannelHandlerContext) {
        server?.close(promise: nil)
        context.fireChannelInactive()
    }

    /// What the server says, for the client.
    private final class WayBack: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        private let client: any Channel

        init(to client: any Channel) { self.client = client }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { client.writeAndFlush(unwrapInboundIn(data), promise: nil) }

        func channelInactive(context: ChannelHandlerContext) { client.close(promise: nil) }
    }
}
