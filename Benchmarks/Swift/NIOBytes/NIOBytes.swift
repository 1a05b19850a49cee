import Measure
import NIOCore
import NIOPosix

/// Bytes through SwiftNIO alone: the limit for everything built on it.
@main
enum NIOBytes {
    static func main() async {
        do { try await run() } catch { Workload.fail("\(error)") }
    }

    private static func run() async throws {
        let words = CommandLine.arguments.dropFirst()
        if words.count == 2, words.first == "echo", let port = words.last.flatMap({ Int($0) }) {
            try await serve(on: port) { EchoHandler() }
        } else if words.count == 2, words.first == "accept", let port = words.last.flatMap({ Int($0) }) {
            try await serve(on: port) { AcceptHandler() }
        } else if let workload = Workload(words), workload.mode == .ping {
            try await ping(workload)
        } else {
            Workload.fail("usage: NIOBytes echo PORT | accept PORT | ping PORT SIZE COUNT")
        }
    }

    private static func serve(on port: Int, handler: @escaping @Sendable () -> any ChannelHandler) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let server = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 4096)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(handler()) }
            }
            .bind(host: "127.0.0.1", port: port).get()
        try await server.closeFuture.get()
    }

    private static func ping(_ workload: Workload) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let channel = try await ClientBootstrap(group: group)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(PingHandler(workload)) }
            }
            .connect(host: "127.0.0.1", port: workload.port).get()
        try await channel.closeFuture.get()
    }
}
