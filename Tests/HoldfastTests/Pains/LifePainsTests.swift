import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// How connections begin and end.
    @Suite struct LifePainsTests {
        /// A way in which a server ends a connection.
        enum Ending: CaseIterable {
            case hangsUpAtOnce, refuses, answersGarbage, opensAndHangsUp, opensAndBreaksRules, opensAndCloses, opensAndFails
        }

        @Test(arguments: Ending.allCases)
        func `pain 2: however a connection ends, there is one closed event and it is the last`(ending: Ending) async throws {
            try await withScriptedServer { peer in
                switch ending {
                case .hangsUpAtOnce: return
                case .refuses: try await peer.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
                case .answersGarbage: try await peer.send("220 smtp.example ESMTP\r\n\r\n")
                case .opensAndHangsUp: try await peer.acceptUpgrade()
                case .opensAndBreaksRules: try await peer.acceptUpgrade(then: [0xFF, 0xFF])
                case .opensAndCloses: try await peer.acceptUpgrade(then: WireFrame.close(.normal).bytes(to: .client))
                case .opensAndFails: try await peer.acceptUpgrade(then: WireFrame.close(.internalError).bytes(to: .client))
                }
                switch ending {
                case .hangsUpAtOnce, .opensAndHangsUp: break
                case .opensAndCloses, .opensAndFails: try await peer.readClose()
                case .refuses, .answersGarbage, .opensAndBreaksRules: _ = await peer.readToEnd()
                }
            } client: { url in
                let socket = WebSocket(url) { $0.reconnect.maximumAttempts = 0 }
                var closed: [WebSocketError?] = []
                for await event in socket.events {
                    #expect(closed.isEmpty, "no event follows closed")
                    if case .closed(let closure) = event { closed.append(closure.error) }
                }
                #expect(closed.count == 1)
                #expect(closed.first.map { $0 == nil } == (ending == .opensAndCloses))
            }
        }

        @Test func `pain 3: any task may call anything at any time, and every call returns`() async throws {
            try await WebSocketServer.echo().withRunning { server in
                for round in 0..<10 {
                    let connection = try await WebSocketConnection.connect(to: server.url())
                    await withDiscardingTaskGroup { group in
                        for task in 0..<8 {
                            group.addTask {
                                for number in 0..<20 {
                                    switch (task + number) % 4 {
                                    case 0: try? await connection.send(.text("\(number)"))
                                    case 1: _ = try? await connection.ping(timeout: .milliseconds(100))
                                    case 2: _ = try? connection.offer(.binary([1]))
                                    default: if task % 4 == 3 { _ = try? await connection.next() }
                                    }
                                }
                                switch (task + round) % 3 {
                                case 0: await connection.close()
                                case 1: connection.abort()
                                default: _ = connection.closeRecord
                                }
                            }
                        }
                    }
                    _ = await connection.end()
                    #expect(connection.closeRecord != nil)
                }
            }
        }

        @Test(arguments: ["", "AAAAAAAAAAAAAAAAAAAAAAAAAAA="])
        func `pain 5: a 101 without the right Sec-WebSocket-Accept is refused`(accept: String) async throws {
            try await withScriptedServer { peer in
                _ = try await peer.readRequest()
                let line = accept.isEmpty ? "" : "Sec-WebSocket-Accept: \(accept)\r\n"
                try await peer.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\(line)\r\n")
                #expect(await peer.readToEnd().isEmpty)
            } client: { url in
                let error = await #expect(throws: WebSocketError.self) { try await WebSocketConnection.connect(to: url) }
                #expect(error?.code == .invalidHandshake)
                #expect((error?.underlying as? HandshakeFailure)?.kind == .invalidAccept)
                #expect(error?.isRetryable == false)
            }
        }

        @Test func `pain 7: a connection may be released at any moment, even with sends and pings in progress`() async throws {
            let flood = WebSocketServer { connection, _ in
                while true { try await connection.send(.text("more and more")) }
            }
            try await flood.withRunning { server in
                for round in 0..<20 {
                    var connection: WebSocketConnection? = try await WebSocketConnection.connect(to: server.url())
                    if round.isMultiple(of: 2) { _ = try await connection?.next() }
                    let ping = Task { [connection] in _ = try? await connection?.ping(timeout: .milliseconds(round)) }
                    if round.isMultiple(of: 3) { ping.cancel() }
                    _ = try connection?.offer(.binary([UInt8](repeating: 0, count: 100_000)))
                    connection = nil
                    await ping.value
                }
            }
        }

        @Test func `pain 7: releasing the last copy drops the link`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                #expect(await peer.readToEnd().isEmpty)
            } client: { url in
                _ = try await WebSocketConnection.connect(to: url)
            }
        }
    }
}
