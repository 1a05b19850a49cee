package import WebSocketRuntime
package import NIOCore
import NIOPosix

/// A proxy that opens a tunnel to one port of this machine, whatever the request is, and relays bytes.
package final class ScriptedProxyRelay: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    private let port: Int
    private let requests: LockedValue<[String]>
    private var request = ""
    private var server: (any Channel)?

    /// - Parameter requests: Collects the first line of each request.
    package init(to port: Int, _ requests: LockedValue<[String]>) { (self.port, self.requests) = (port, requests) }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if let server { return server.writeAndFlush(unwrapInboundIn(data), promise: nil) }
        request += String(buffer: unwrapInboundIn(data))
        guard request.hasSuffix("\r\n\r\n"), let line = request.split(separator: "\r\n").first else { return }
        requests.withLockedValue { $0.append(String(line)) }
        let client = context.channel
        ClientBootstrap(group: context.eventLoop)
            .channelInitializer { $0.pipeline.addHandler(ServerRelay(to: client)) }
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

    /// Relays the server's bytes to the client.
    private final class ServerRelay: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        private let client: any Channel

        init(to client: any Channel) { self.client = client }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { client.writeAndFlush(unwrapInboundIn(data), promise: nil) }

        func channelInactive(context: ChannelHandlerContext) { client.close(promise: nil) }
    }
}
