import Measure
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket

/// SwiftNIO's own WebSocket with a handler as an expert would write it.
@main
enum NIOWebSocketPeer {
    private static let largestFrame = 64 << 20

    static func main() async {
        do { try await run() } catch { Workload.fail("\(error)") }
    }

    private static func run() async throws {
        let words = CommandLine.arguments.dropFirst()
        if words.count == 2, words.first == "server", let port = words.last.flatMap({ Int($0) }) {
            try await serve(on: port)
        } else if words.first == "client", let workload = Workload(words.dropFirst()) {
            try await run(workload)
        } else {
            Workload.fail("usage: NIOWebSocketPeer server PORT | client ping|receive|send PORT SIZE COUNT")
        }
    }

    private static func serve(on port: Int) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let server = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 4096)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                let upgrader = NIOWebSocketServerUpgrader(
                    maxFrameSize: largestFrame,
                    shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture([:]) },
                    upgradePipelineHandler: { channel, _ in
                        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(EchoHandler()) }
                    })
                return channel.pipeline.configureHTTPServerPipeline(
                    withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in }))
            }
            .bind(host: "127.0.0.1", port: port).get()
        try await server.closeFuture.get()
    }

    private static func run(_ workload: Workload) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let upgrade = try await ClientBootstrap(group: group)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connect(host: "127.0.0.1", port: workload.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let upgrader = NIOTypedWebSocketClientUpgrader<any Channel>(maxFrameSize: largestFrame) { channel, _ in
                        channel.eventLoop.makeCompletedFuture {
                            try channel.pipeline.syncOperations.addHandler(ClientHandler(workload))
                            return channel
                        }
                    }
                    let request = HTTPRequestHead(version: .http1_1, method: .GET, uri: workload.mode.path, headers: ["Host": "127.0.0.1"])
                    let upgrade = NIOTypedHTTPClientUpgradeConfiguration<any Channel>(
                        upgradeRequestHead: request, upgraders: [upgrader],
                        notUpgradingCompletionHandler: { _ in Workload.fail("the server refused the upgrade") })
                    return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
                        configuration: NIOUpgradableHTTPClientPipelineConfiguration(upgradeConfiguration: upgrade))
                }
            }
        let channel = try await upgrade.get()
        try await channel.closeFuture.get()
    }
}
