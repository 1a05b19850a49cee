import Holdfast
import HoldfastServer
import WebSocketRuntime
import NIOCore
import NIOPosix
import ScriptedPeers
import Testing

extension SocketTests {
    /// Inline handlers that take no more messages for a while.
    @Suite struct InlineHoldTests {
        private let log = InlineLog()

        /// Holds after each message, and goes on when it is told to.
        private func server(_ goOn: LockedValue<[@Sendable () -> Void]>) -> WebSocketServer {
            WebSocketServer.inline {
                $0.compression = nil
            } _: { [log] in
                LoggedHandler(log) { kind, bytes, socket in
                    socket.pauseReceiving()
                    guard let loop = MultiThreadedEventLoopGroup.currentEventLoop else { return }
                    let bound = NIOLoopBound(socket, eventLoop: loop)
                    goOn.withLockedValue { $0.append { loop.execute { bound.value.resumeReceiving() } } }
                    // Last, so that who hears of it can let it go on.
                    log.add(.received(Message(kind, bytes)))
                }
            }
        }

        @Test(arguments: [1, 3000, 200_000]) func `nothing comes while it holds, and everything after`(size: Int) async throws {
            let goOn = LockedValue<[@Sendable () -> Void]>([])
            try await server(goOn).withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                try await peer.upgrade()
                let messages = (0..<5).map { Message.sample(.binary, size, $0) }
                for message in messages {
                    guard case .binary(let bytes) = message else { continue }
                    try await peer.send(WireFrame(.binary, bytes), to: .server)
                }
                await log.expect(.opened)
                for (number, message) in messages.enumerated() {
                    await log.expect(.received(message))
                    // As many have come as were asked for.
                    #expect(goOn.withLockedValue(\.count) == number + 1)
                    goOn.withLockedValue { $0[number] }()
                }
                await peer.close()
            }
            #expect(log.faults == [])
        }

        @Test func `a close frame of its own is answered even so`() async throws {
            let goOn = LockedValue<[@Sendable () -> Void]>([])
            let connection = try await server(goOn).withRunning { server in
                let connection = try await WebSocketConnection.connect(to: server.url())
                try await connection.send(.text("first"))
                await log.expect(.opened)
                await log.expect(.received(.text("first")))
                return connection
            }
            // The server said goodbye, although it took nothing.
            guard case .ended(let record)? = await log.end() else { throw ScriptedPeer.Ended() }
            #expect(record.sent?.code == .goingAway && record.received?.code == .goingAway)
            await connection.close()
        }
    }
}
