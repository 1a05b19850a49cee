import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// Errors that were observed in swift-websocket 1.6.1.
    @Suite struct SwiftWebSocketFailuresTests {
        @Test func `four tasks each sending 20 × 100 KB never mix their messages`() async throws {
            let (senders, messages) = (4, 20)
            func message(_ sender: Int, _ number: Int) -> Message {
                .binary([UInt8(number)] + [UInt8](repeating: UInt8(sender), count: 100_000))
            }
            try await WebSocketServer.echo().withRunning { server in
                try await WebSocketConnection.withConnection(to: server.url()) { connection in
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for sender in 0..<senders {
                            group.addTask { for number in 0..<messages { try await connection.send(message(sender, number)) } }
                        }
                        var received = [Int](repeating: 0, count: senders)
                        for _ in 0..<senders * messages {
                            guard case .binary(let bytes) = try await connection.next() else { break }
                            let sender = Int(bytes[100_000])
                            #expect(Message.binary(bytes) == message(sender, received[sender]), "the messages are mixed or out of order")
                            received[sender] += 1
                        }
                        #expect(received.allSatisfy { $0 == messages })
                        try await group.waitForAll()
                    }
                }
            }
        }

        @Test func `two tasks sending with context takeover never corrupt the stream`() async throws {
            let (senders, messages) = (2, 50)
            func message(_ sender: Int, _ number: Int) -> Message {
                .text((0..<200).map { "sender \(sender) message \(number) line \($0)" }.joined(separator: "\n"))
            }
            try await WebSocketServer.echo().withRunning { server in
                try await WebSocketConnection.withConnection(to: server.url()) { connection in
                    #expect(connection.compression?.clientNoContextTakeover == false)
                    #expect(connection.compression?.serverNoContextTakeover == false)
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for sender in 0..<senders {
                            group.addTask { for number in 0..<messages { try await connection.send(message(sender, number)) } }
                        }
                        var received = [Int](repeating: 0, count: senders)
                        for _ in 0..<senders * messages {
                            let echo = try await connection.next()
                            guard let sender = (0..<senders).first(where: { echo == message($0, received[$0]) }) else {
                                Issue.record("a message is corrupt or out of order: \(String(describing: echo))")
                                break
                            }
                            received[sender] += 1
                        }
                        #expect(received.allSatisfy { $0 == messages })
                        try await group.waitForAll()
                    }
                }
            }
        }

        @Test func `a consumer that does not read does not time out the peer`() async throws {
            let configuration = WebSocketConfiguration.with {
                ($0.timeouts.pingInterval, $0.timeouts.ping) = (.milliseconds(50), .seconds(1))
            }
            let (pings, pinged) = AsyncStream.makeStream(of: Void.self)
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                for number in 1...25 {
                    try await peer.send(.text("\(number)"), to: .client)
                    let ping = try await peer.readFrame()
                    #expect(ping.opcode == .ping)
                    try await peer.send(WireFrame(.pong, ping.payload), to: .client)
                }
                pinged.yield()
                try await peer.answerClose(to: .client)
            } client: { url in
                try await WebSocketConnection.withConnection(to: url, configuration: configuration) { connection in
                    // The app reads nothing for longer than the pong timeout.
                    for await _ in pings { break }
                    for number in 1...25 { try await connection.expect(.text("\(number)")) }
                    #expect(connection.closeRecord == nil)
                }
            }
        }

        @Test func `a consumer that stops the reading does not time out the peer, while a dead peer is detected`() async throws {
            let configuration = WebSocketConfiguration.with {
                ($0.timeouts.pingInterval, $0.timeouts.ping) = (.milliseconds(50), .seconds(1))
                $0.limits.receiveBuffer = 1024
            }
            let message = Message.binary([UInt8](repeating: 7, count: 10_000))
            let flooding = WebSocketServer { connection, _ in
                for _ in 1...1000 { try await connection.send(message) }
            }
            try await flooding.withRunning { server in
                try await WebSocketConnection.withConnection(to: server.url(), configuration: configuration) { connection in
                    // The app reads nothing while two dead peers are detected.
                    for _ in 1...2 {
                        let error = try await Self.connectToSilentPeer(configuration)
                        #expect(error?.code == .unresponsive)
                        #expect(error?.isRetryable == true)
                    }
                    for _ in 1...1000 { try await connection.expect(message) }
                    try await connection.expect(nil)
                }
            }
        }

        /// Connects to a peer that reads and sends nothing.
        private static func connectToSilentPeer(_ configuration: WebSocketConfiguration) async throws -> WebSocketError? {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                _ = await peer.readToEnd()
            } client: { url in
                try await WebSocketConnection.connect(to: url, configuration: configuration).end()
            }
        }

        @Test func `a server that accepts and never answers the upgrade times out`() async throws {
            try await withScriptedServer { peer in
                _ = await peer.readToEnd()
            } client: { url in
                let configuration = WebSocketConfiguration.with { $0.timeouts.handshake = .milliseconds(100) }
                let error = await #expect(throws: WebSocketError.self) {
                    try await WebSocketConnection.connect(to: url, configuration: configuration)
                }
                #expect(error?.code == .timedOut)
                #expect(error?.isRetryable == true)
                #expect(error?.description.contains(url) == true)
            }
        }

        @Test func `a 401 keeps its status, headers and body`() async throws {
            let server = WebSocketServer { _ in
                .refuse(HTTPResponse(status: 401, headers: ["WWW-Authenticate": "Bearer realm=\"x\""], body: Array("token expired".utf8)))
            } handler: { _, _ in
            }
            try await server.withRunning { server in
                let error = await #expect(throws: WebSocketError.self) { try await WebSocketConnection.connect(to: server.url("/feed")) }
                #expect(error?.code == .refused)
                #expect(error?.httpStatus == 401)
                #expect(error?.responseHeaders["www-authenticate"] == "Bearer realm=\"x\"")
                #expect(error.map { String(decoding: $0.body, as: UTF8.self) } == "token expired")
                #expect(error?.isRetryable == false)
                #expect(error?.description == "\(server.url("/feed")) refused the upgrade: 401 Unauthorized")
            }
        }

        @Test func `the message limit counts the first frame`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                try await peer.send(WireFrame(.binary, [UInt8](repeating: 1, count: 100)), to: .client)
                try await peer.send(WireFrame(.binary, [UInt8](repeating: 2, count: 10_000)), to: .client)
                #expect(try await peer.readClose().code == .messageTooBig)
            } client: { url in
                let configuration = WebSocketConfiguration.with { $0.limits.message = 100 }
                let connection = try await WebSocketConnection.connect(to: url, configuration: configuration)
                #expect(try await connection.next()?.byteCount == 100)
                let error = await connection.end()
                #expect(error?.code == .protocolViolation)
                #expect((error?.underlying as? ProtocolViolation)?.kind == .messageTooBig)
            }
        }
    }
}
