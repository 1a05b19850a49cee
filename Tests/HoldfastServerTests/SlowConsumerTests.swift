import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// Clients that read too slowly.
    @Suite struct SlowConsumerTests {
        private func flooding(_ policy: SlowConsumerPolicy, reports: AsyncStream<WebSocketError>.Continuation) -> WebSocketServer {
            let configuration = WebSocketServerConfiguration.with { ($0.slowConsumers, $0.timeouts.pingInterval) = (policy, nil) }
            return WebSocketServer(configuration: configuration) { connection, _ in
                do throws(WebSocketError) {
                    while true { try await connection.send(.binary([UInt8](repeating: 0, count: 1 << 20))) }
                } catch {
                    reports.yield(error)
                }
            }
        }

        @Test func `a client that does not read is dropped, and its handler gets an error`() async throws {
            let (errors, reports) = AsyncStream.makeStream(of: WebSocketError.self)
            try await flooding(.disconnect(after: .milliseconds(200)), reports: reports).withRunning { server in
                let peer = try await ScriptedPeer.open(server)
                try await peer.stopReading()
                for await error in errors {
                    #expect(error.code == .stalled)
                    break
                }
            }
        }

        @Test func `over TLS a client that does not read is dropped`() async throws {
            let certificates = try TestCertificates.shared()
            let identity = certificates.identity(nil)
            let (errors, reports) = AsyncStream.makeStream(of: WebSocketError.self)
            let configuration = WebSocketServerConfiguration.with {
                $0.tls = ServerTLSOptions(certificateChainFile: identity.certificate, privateKeyFile: identity.key)
                ($0.slowConsumers, $0.timeouts.pingInterval) = (.disconnect(after: .milliseconds(200)), nil)
                $0.compression = nil
            }
            let server = WebSocketServer(configuration: configuration) { connection, _ in
                do throws(WebSocketError) {
                    while true { try await connection.send(.binary([UInt8](repeating: 0, count: 1 << 20))) }
                } catch {
                    reports.yield(error)
                }
            }
            try await server.withRunning { server in
                var trusting = WebSocketConfiguration()
                trusting.tls = TLSOptions(trust: .file(certificates.authority))
                let client = try await WebSocketConnection.connect(to: server.url(), configuration: trusting)
                for await error in errors {
                    #expect(error.code == .stalled)
                    break
                }
                withExtendedLifetime(client) {}
            }
        }

        @Test func `a slow reader does not count as stalled`() async throws {
            let size = 48 << 20
            let configuration = WebSocketServerConfiguration.with {
                ($0.slowConsumers, $0.timeouts.pingInterval) = (.disconnect(after: .seconds(1)), nil)
                $0.compression = nil
            }
            let server = WebSocketServer(configuration: configuration) { connection, _ in
                // The system sends this frame in small parts.
                try await connection.send(.binary([UInt8](repeating: 5, count: size)))
            }
            try await server.withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port, buffer: 256 << 10)
                #expect(try await peer.upgrade().status == 101)
                try await peer.stopReading()
                // Reads small parts for twice the time after which a stalled client is dropped.
                for _ in 1...20 {
                    try await peer.take(atLeast: 1 << 20)
                    try await Task.sleep(for: .milliseconds(100))
                }
                try await peer.startReading()
                #expect(try await peer.readFrame().payload.count == size)
                #expect(try await peer.answerClose(to: .server).code == .normal)
            }
        }

        @Test func `a client that answers no ping is dropped`() async throws {
            let (errors, reports) = AsyncStream.makeStream(of: WebSocketError.self)
            let configuration = WebSocketServerConfiguration.with {
                ($0.timeouts.pingInterval, $0.timeouts.ping) = (.milliseconds(20), .milliseconds(100))
            }
            let server = WebSocketServer(configuration: configuration) { connection, _ in
                do throws(WebSocketError) { for try await _ in connection.messages {} } catch { reports.yield(error) }
            }
            try await server.withRunning { server in
                let peer = try await ScriptedPeer.open(server)
                #expect(try await peer.readFrame().opcode == .ping)
                #expect(await peer.readToEnd().isEmpty)
                for await error in errors {
                    #expect(error.code == .unresponsive)
                    break
                }
            }
        }

        @Test func `with the wait policy the handler waits until the client reads`() async throws {
            let (sends, sent) = AsyncStream.makeStream(of: Int.self)
            let configuration = WebSocketServerConfiguration.with { ($0.slowConsumers, $0.compression) = (.wait, nil) }
            let (size, count) = (1 << 20, 40)
            let server = WebSocketServer(configuration: configuration) { connection, _ in
                while try connection.offer(.binary([UInt8](repeating: 0, count: size))) { await Task.yield() }
                sent.yield(0)
                for number in 1...count {
                    try await connection.send(.binary([UInt8](repeating: UInt8(number), count: size)))
                    sent.yield(number)
                }
            }
            try await server.withRunning { server in
                let peer = try await ScriptedPeer.open(server)
                try await peer.stopReading()
                var progress = sends.makeAsyncIterator()
                #expect(await progress.next() == 0)
                try await peer.startReading()
                while let last = try await peer.readFrame().payload.last, last != UInt8(count) {}
                #expect(try await peer.answerClose(to: .server).code == .normal)
            }
        }
    }
}
