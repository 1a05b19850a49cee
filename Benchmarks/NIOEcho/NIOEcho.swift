import Foundation
import NIOCore
import NIOPosix

/// Bytes through SwiftNIO with nothing on top: the floor that the benchmark compares Holdfast with.
///
/// `NIOEcho echo` prints `listening PORT` and echoes what comes. `NIOEcho receive|send PORT SIZE SECONDS` is a client of the
/// sink (`load/sink.c`, without WebSocket) and prints what it measured.
@main
enum NIOEcho {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        switch (arguments.first, arguments.count) {
        case ("echo", 1):
            try await serve(on: group)
        case ("receive", 4), ("send", 4):
            guard let port = Int(arguments[1]), let size = Int(arguments[2]), let seconds = Double(arguments[3]) else { usage() }
            let meter = Meter(size: size, seconds: seconds)
            try await connect(to: port, on: group, isSender: arguments[0] == "send", meter: meter)
        default:
            usage()
        }
    }

    private static func serve(on group: any EventLoopGroup) async throws {
        let server = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 4096)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(EchoHandler()) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        print("listening \(server.localAddress?.port ?? 0)")
        fflush(nil)
        try await server.closeFuture.get()
    }

    private static func connect(to port: Int, on group: any EventLoopGroup, isSender: Bool, meter: Meter) async throws {
        let channel = try await ClientBootstrap(group: group)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler: any ChannelHandler = isSender ? SendHandler(meter: meter) : ReceiveHandler(meter: meter)
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        try await channel.closeFuture.get()
    }

    private static func usage() -> Never {
        print("usage: NIOEcho echo | receive PORT SIZE SECONDS | send PORT SIZE SECONDS")
        exit(2)
    }
}
