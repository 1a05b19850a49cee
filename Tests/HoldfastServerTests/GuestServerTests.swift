import Holdfast
import NIOCore
import ScriptedPeers
import Testing

@testable import HoldfastServer

extension SocketTests {
    /// Another HTTP server on the same port.
    @Suite struct GuestServerTests {
        /// Sends back every byte; once it is told that the server ends it says so, and ends after the next bytes.
        private final class GuestEcho: ChannelInboundHandler {
            typealias InboundIn = ByteBuffer
            typealias OutboundOut = ByteBuffer
            private var isEnding = false

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                context.writeAndFlush(data, promise: nil)
                if isEnding { context.close(promise: nil) }
            }

            func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
                guard event is ChannelShouldQuiesceEvent else { return }
                isEnding = true
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "bye")), promise: nil)
            }
        }

        private func server(_ configure: (inout WebSocketServerConfiguration) -> Void = { _ in }) -> WebSocketServer {
            var configuration = WebSocketServerConfiguration()
            configure(&configuration)
            var server = WebSocketServer(configuration: configuration) { connection, _ in
                for try await message in connection.messages { try await connection.send(message) }
            }
            server.guests = GuestServer { channel in
                try channel.pipeline.syncOperations.addHandler(GuestEcho())
                return { try? await channel.closeFuture.get() }
            }
            return server
        }

        private let request = "POST /form HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na=b"

        @Test func `a request for no websocket is the guest's from its first byte, with all that follows`() async throws {
            try await server().withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                try await peer.send(request)
                #expect(try await peer.read(request.utf8.count) == Array(request.utf8))
                let long = [UInt8](repeating: 7, count: 1 << 20)
                async let sent: Void = peer.send(long)
                #expect(try await peer.read(long.count) == long)
                try await sent
            }
        }

        @Test func `also if it comes byte by byte`() async throws {
            try await server().withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                try await peer.sendByteByByte(Array(request.utf8))
                #expect(try await peer.read(request.utf8.count) == Array(request.utf8))
            }
        }

        @Test func `websockets open beside it`() async throws {
            try await server().withRunning { server in
                let guest = try await ScriptedPeer.connect(to: server.port)
                try await guest.send(request)
                let connection = try await WebSocketConnection.connect(to: server.url())
                try await connection.send(.text("hello"))
                #expect(try await connection.messages.first { _ in true } == .text("hello"))
                #expect(server.connectionCount == 2)
                await connection.close()
                #expect(try await guest.read(request.utf8.count) == Array(request.utf8))
            }
        }

        @Test func `what breaks the rules of HTTP never reaches it`() async throws {
            try await server().withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                try await peer.send("GET / HTTP/1.1\r\nHost : x\r\n\r\n")
                #expect(try await peer.readResponse().status == 400)
            }
        }

        @Test func `a head that does not end is dropped at the deadline of the handshake`() async throws {
            try await server { $0.timeouts.handshake = .milliseconds(100) }.withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                // On a slow machine the deadline may come first.
                try? await peer.send("GET / HTTP/1.1\r\n")
                #expect(await peer.readToEnd().isEmpty)
            }
        }

        @Test func `the guest is told when the server ends, and the server waits for it`() async throws {
            let (peers, arrival) = AsyncStream.makeStream(of: ScriptedPeer.self)
            async let last = Self.farewell(peers)
            try await server { $0.shutdownGrace = .seconds(60) }.withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                try await peer.send(request)
                _ = try await peer.read(request.utf8.count)
                arrival.yield(peer)
            }
            #expect(try await last == "last")
        }

        /// What a peer still gets after it was told of the end.
        private static func farewell(_ peers: AsyncStream<ScriptedPeer>) async throws -> String {
            guard let peer = await peers.first(where: { _ in true }) else { return "" }
            _ = try await peer.read(through: "bye")
            try await peer.send("last")
            return String(decoding: await peer.readToEnd(), as: UTF8.self)
        }

        @Test func `a guest that does not end is dropped when the server's patience ends`() async throws {
            var configuration = WebSocketServerConfiguration()
            configuration.shutdownGrace = .milliseconds(50)
            var server = WebSocketServer(configuration: configuration) { _, _ in }
            server.guests = GuestServer { channel in { try? await channel.closeFuture.get() } }
            let peer = try await server.withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                try await peer.send(request)
                while server.channels.guestCount == 0 { await Task.yield() }
                return peer
            }
            #expect(await peer.readToEnd().isEmpty)
        }
    }
}
