#if os(Linux)
    import Holdfast
    import HoldfastServer
    import ScriptedPeers
    import Testing

    extension SocketTests {
        /// The bytes that the system holds for clients that do not read; Darwin applies its limit only while someone waits for room.
        @Suite struct UnsentLimitTests {
            /// How many messages of 4 KiB a handler sends before its client counts as stalled.
            private func accepted(unsentLimit: Int?) async throws -> Int {
                let configuration = WebSocketServerConfiguration.with {
                    ($0.slowConsumers, $0.timeouts.pingInterval) = (.disconnect(after: .milliseconds(500)), nil)
                    ($0.compression, $0.unsentLimit) = (nil, unsentLimit)
                }
                let (counts, reports) = AsyncStream.makeStream(of: Int.self)
                let server = WebSocketServer(configuration: configuration) { connection, _ in
                    var count = 0
                    while (try? await connection.send(.binary([UInt8](repeating: 0, count: 4096)))) != nil { count += 1 }
                    reports.yield(count)
                }
                var accepted = 0
                try await server.withRunning { server in
                    let peer = try await ScriptedPeer.connect(to: server.port, buffer: 4096)
                    _ = try await peer.upgrade()
                    try await peer.stopReading()
                    for await count in counts {
                        accepted = count
                        break
                    }
                }
                return accepted
            }

            @Test func `with a limit the system holds few bytes for a client that does not read`() async throws {
                let (few, many) = (try await accepted(unsentLimit: 8192), try await accepted(unsentLimit: nil))
                #expect(few * 4 < many, "\(few) and \(many)")
            }
        }
    }
#endif
