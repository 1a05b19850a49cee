import Holdfast
import HoldfastServer
import WebSocketRuntime
import NIOCore
import NIOPosix
import ScriptedPeers
import Testing

extension SocketTests {
    /// Inline handlers that pause receiving.
    @Suite struct InlineHoldTests {
        private let log = InlineLog()

        /// Pauses after each message, and resumes when the test calls the stored closure.
        private func server(_ resumptions: LockedValue<[@Sendable () -> Void]>) -> WebSocketServer {
            WebSocketServer.inline {
                $0.compression = nil
            } _: { [log] in
                LoggedHandler(log) { kind, bytes, socket in
                    socket.pauseReceiving()
                    guard let loop = MultiThreadedEventLoopGroup.currentEventLoop else { return }
                    let bound = NIOLoopBound(socket, eventLoop: loop)
                    resumptions.withLockedValue { $0.append { loop.execute { bound.value.resumeReceiving() } } }
                    // The event is logged last, so that a test that sees it can resume.
                    log.add(.received(Message(kind, bytes)))
                }
            }
        }

        @Test(arguments: [1, 3000, 200_000]) func `a paused handler gets its messages only after it resumes`(size: Int) async throws {
            let resumptions = LockedValue<[@Sendable () -> Void]>([])
            try await server(resumptions).withRunning { server in
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
                    // Only the requested messages have arrived.
                    #expect(resumptions.withLockedValue(\.count) == number + 1)
                    resumptions.withLockedValue { $0[number] }()
                }
                await peer.close()
            }
            #expect(log.faults == [])
        }

        @Test func `a paused connection still completes a close from its own side`() async throws {
            let resumptions = LockedValue<[@Sendable () -> Void]>([])
            let connection = try await server(resumptions).withRunning { server in
                let connection = try await WebSocketConnection.connect(to: server.url())
                try await connection.send(.text("first"))
                await log.expect(.opened)
                await log.expect(.received(.text("first")))
                return connection
            }
            // The server sent a close frame though its handler was paused.
            guard case .ended(let record)? = await log.end() else { throw ScriptedPeer.Ended() }
            #expect(record.sent?.code == .goingAway && record.received?.code == .goingAway)
            await connection.close()
        }
    }
}
