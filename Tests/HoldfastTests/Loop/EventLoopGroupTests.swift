import Holdfast
import HoldfastServer
import NIOCore
import NIOEmbedded
import NIOPosix
import Testing

extension SocketTests {
    /// The event loops that connections run on.
    @Suite struct EventLoopGroupTests {
        @Test func `a connection runs on the event loop group that it was given`() async throws {
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let server = WebSocketServer { connection, _ in _ = await connection.transport.ended() }
            try await server.withRunning { running in
                let connection = try await WebSocketConnection.connect(
                    to: "ws://127.0.0.1:\(running.port)/", configuration: .with { $0.eventLoopGroup = group })
                #expect(await connection.onEventLoop { _ in group.next().inEventLoop })
                await connection.close()
            }
            try await group.shutdownGracefully()
        }

        @Test func `event loops that open no connections are an error`() async {
            let loop = NIOAsyncTestingEventLoop()
            let error = await #expect(throws: WebSocketError.self) {
                try await WebSocketConnection.connect(to: "ws://127.0.0.1:1/", configuration: .with { $0.eventLoopGroup = loop })
            }
            #expect(error?.code == .invalidConfiguration)
            #expect(error?.description.contains("NIOAsyncTestingEventLoop") == true)
            await loop.shutdownGracefully()
        }
    }
}
