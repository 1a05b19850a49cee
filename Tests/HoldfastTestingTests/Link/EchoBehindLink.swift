import HoldfastTesting
import NIOCore
import NIOPosix

/// A suite of tests with a link to a server that echoes.
protocol EchoBehindLink {}

extension EchoBehindLink {
    typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    /// Runs `body` with a link to a server that echoes and that ends its direction after the client has ended its own.
    func withLink(_ body: (FaultyLink) async throws -> Void) async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .bind(host: "127.0.0.1", port: 0, childChannelInitializer: wrapForEcho)
        let port = listener.channel.localAddress?.port ?? 0
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await listener.executeThenClose { connections in
                    try await withThrowingDiscardingTaskGroup { group in
                        for try await connection in connections {
                            group.addTask {
                                try? await connection.executeThenClose { inbound, outbound in
                                    for try await bytes in inbound { try await outbound.write(bytes) }
                                    outbound.finish()
                                }
                            }
                        }
                    }
                }
            }
            let link = try await FaultyLink.start(to: port)
            try await body(link)
            try await link.stop()
            try await listener.channel.close()
            try? await group.waitForAll()
        }
    }

    func connect(to link: FaultyLink) async throws -> Connection {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .connect(host: "127.0.0.1", port: link.port, channelInitializer: wrapForEcho)
    }

    /// Sends bytes and collects the answer.
    func echo(_ connection: Connection, _ bytes: ByteBuffer) async throws -> ByteBuffer {
        try await connection.executeThenClose { inbound, outbound in
            async let sent: Void = {
                try await outbound.write(bytes)
                outbound.finish()
            }()
            var received = ByteBuffer()
            for try await var some in inbound { received.writeBuffer(&some) }
            try await sent
            return received
        }
    }
}

private func wrapForEcho(_ channel: any Channel) -> EventLoopFuture<NIOAsyncChannel<ByteBuffer, ByteBuffer>> {
    channel.eventLoop.makeCompletedFuture {
        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
            wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
    }
}
