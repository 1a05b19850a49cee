import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket

/// The same with SwiftNIO's own WebSocket, without reconnect, ping or close handshake.
@main enum Bare {
    static func main() async throws {
        let arguments = CommandLine.arguments
        let (scheme, host, port) = (arguments[1], arguments[2], Int(arguments[3]) ?? 443)
        let tls = scheme == "wss" ? try NIOSSLContext(configuration: .makeClientConfiguration()) : nil
        let upgraded = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: host, port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLClientHandler(context: tls, serverHostname: host)) }
                    return try upgrade(channel, host: "\(host):\(port)")
                }
            }
        guard let channel = try await upgraded.get() else { return print("refused") }
        try await channel.executeThenClose { inbound, _ in
            for try await frame in inbound where frame.opcode == .text {
                print(String(buffer: frame.unmaskedData))
                break
            }
        }
    }

    private typealias Frames = NIOAsyncChannel<WebSocketFrame, WebSocketFrame>

    private static func upgrade(_ channel: any Channel, host: String) throws -> EventLoopFuture<Frames?> {
        let upgrader = NIOTypedWebSocketClientUpgrader<Frames?> { channel, _ in
            channel.eventLoop.makeCompletedFuture { try NIOAsyncChannel(wrappingChannelSynchronously: channel) }
        }
        let configuration = NIOTypedHTTPClientUpgradeConfiguration<Frames?>(
            upgradeRequestHead: HTTPRequestHead(version: .http1_1, method: .GET, uri: "/", headers: ["Host": host]), upgraders: [upgrader],
            notUpgradingCompletionHandler: { $0.eventLoop.makeSucceededFuture(nil) })
        return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
            configuration: NIOUpgradableHTTPClientPipelineConfiguration(upgradeConfiguration: configuration))
    }
}
