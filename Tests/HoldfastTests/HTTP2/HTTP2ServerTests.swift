import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// How the server answers HTTP/2 clients that request something else or break rules; a scripted peer sends the frames.
    @Suite struct HTTP2ServerTests {
        private func server(_ configure: (inout WebSocketServerConfiguration) -> Void = { _ in }) -> WebSocketServer {
            .echo {
                $0.httpVersion = .automatic
                configure(&$0)
            }
        }

        private func begin(_ server: RunningServer) async throws -> ScriptedPeer {
            let peer = try await ScriptedPeer.connect(to: server.port)
            try await peer.send(Self.beginning)
            return peer
        }

        private static let beginning = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + HTTP2Wire.frame(.settings)

        /// Connects and acknowledges the server's settings, which apply from then on.
        private func beginAgreed(_ server: RunningServer) async throws -> ScriptedPeer {
            let peer = try await begin(server)
            _ = try await peer.http2(.settings)
            try await peer.send(HTTP2Wire.frame(.settings, flags: 1))
            return peer
        }

        /// `:method`, `:scheme: http` and `:path: /` by their indices in the static table (RFC 7541 appendix A).
        private static let get: [UInt8] = [0x82, 0x86, 0x84]
        private static let post: [UInt8] = [0x83, 0x86, 0x84]

        @Test func `the server announces WebSockets and its limits`() async throws {
            try await server { $0.http2.maximumStreams = 7 }.withRunning { server in
                let peer = try await begin(server)
                let settings = try await peer.http2(.settings)
                let values = stride(from: 0, to: settings.count, by: 6).map { Array(settings[$0..<$0 + 6]) }
                #expect(values.contains([0, 8, 0, 0, 0, 1]) && values.contains([0, 3, 0, 0, 0, 7]))
                #expect(values.contains([0, 6, 0, 0, 0x40, 0]), "SETTINGS_MAX_HEADER_LIST_SIZE is the limit of a request's head")
            }
        }

        @Test func `a plain request gets the same answer as over HTTP 1, and the connection stays open`() async throws {
            try await server().withRunning { server in
                let peer = try await begin(server)
                for stream in [1, 3] {
                    try await peer.send(HTTP2Wire.frame(.headers, flags: 5, stream: stream, Self.get))
                    #expect(try await peer.http2(.headers).first == 0x8D, "404")
                    #expect(String(decoding: try await peer.http2(.data), as: UTF8.self) == "This server only accepts WebSockets.\n")
                }
            }
        }

        @Test func `a request with a body gets an answer, and its stream is reset without an error`() async throws {
            try await server().withRunning { server in
                let peer = try await begin(server)
                try await peer.send(HTTP2Wire.frame(.headers, flags: 4, stream: 1, Self.post))
                #expect(try await peer.http2(.headers).first == 0x8D)
                #expect(try await peer.http2(.reset) == [0, 0, 0, 0])
            }
        }

        @Test func `many streams that the client opens and resets end the connection`() async throws {
            try await server { $0.http2.maximumStreams = 1000 }.withRunning { server in
                let peer = try await begin(server)
                for number in 0..<300 {
                    let stream = 2 * number + 1
                    let request = HTTP2Wire.frame(.headers, flags: 4, stream: stream, Self.post)
                    try? await peer.send(request + HTTP2Wire.reset(stream: stream, 8))
                }
                #expect(try await peer.http2(.goAway).suffix(4) == [0, 0, 0, 11], "ENHANCE_YOUR_CALM")
                _ = await peer.readToEnd()
            }
        }

        @Test func `a flood of pings ends the connection`() async throws {
            try await server().withRunning { server in
                let peer = try await begin(server)
                for _ in 0..<300 { try? await peer.send(HTTP2Wire.frame(.ping, Array(repeating: 0, count: 8))) }
                #expect(try await peer.http2(.goAway).suffix(4) == [0, 0, 0, 11], "ENHANCE_YOUR_CALM")
                _ = await peer.readToEnd()
            }
        }

        @Test func `requests beyond the limit of waiting refusals are reset with REFUSED_STREAM`() async throws {
            let full = server {
                $0.maximumConnections = 1
                $0.http2.maximumStreams = 1000
            }
            try await full.withRunning { server in
                let peer = try await beginAgreed(server)
                // Without a window the refusals cannot leave, so each of them stays on the server.
                let noWindow = HTTP2Wire.frame(.settings, [0, 4, 0, 0, 0, 0])
                try await peer.send(noWindow)
                try await peer.send((0..<257).flatMap { HTTP2Wire.frame(.headers, flags: 5, stream: 2 * $0 + 1, Self.get) })
                let refused = try await peer.http2(oneOf: [.reset])
                #expect(refused.stream == 2 * 256 + 1 && refused.payload == [0, 0, 0, 7], "REFUSED_STREAM")
            }
        }

        @Test func `a connection ends when too many refusals cannot leave`() async throws {
            let full = server {
                $0.maximumConnections = 1
                $0.http2.maximumStreams = 1000
            }
            try await full.withRunning { server in
                let peer = try await beginAgreed(server)
                try await peer.send(HTTP2Wire.frame(.settings, [0, 4, 0, 0, 0, 0]))
                try await peer.send((0..<257 + 101).flatMap { HTTP2Wire.frame(.headers, flags: 5, stream: 2 * $0 + 1, Self.get) })
                #expect(try await peer.http2(.goAway).suffix(4) == [0, 0, 0, 11], "ENHANCE_YOUR_CALM")
                _ = await peer.readToEnd()
            }
        }

        @Test func `data right after a request waits for the app's decision`() async throws {
            let server = WebSocketServer(configuration: .bothVersions) { _ in
                await Task.yield()
                return .accept()
            } handler: { connection, _ in
                for try await message in connection.messages { try await connection.send(message) }
            }
            try await server.withRunning { server in
                let peer = try await beginAgreed(server)
                let early = HTTP2Wire.data(stream: 1, WireFrame.text("early").bytes(to: .server))
                try await peer.send(HTTP2Wire.request(stream: 1) + early)
                #expect(try await peer.http2(.headers).first == 0x88, "200")
                #expect(try await peer.http2(.data) == WireFrame.text("early").bytes(to: .client))
            }
        }

        @Test(arguments: [true, false])
        func `the end of a stream ends its WebSocket and no other one`(isReset: Bool) async throws {
            let (ends, end) = AsyncStream.makeStream(of: WebSocketError?.self)
            let server = WebSocketServer(configuration: .bothVersions) { connection, _ in
                end.yield(await connection.end())
            }
            try await server.withRunning { server in
                let peer = try await beginAgreed(server)
                for stream in [1, 3] {
                    try await peer.send(HTTP2Wire.request(stream: stream))
                    _ = try await peer.http2(.headers)
                }
                try await peer.send(isReset ? HTTP2Wire.reset(stream: 1, 8) : HTTP2Wire.data(stream: 1, [], isEnd: true))
                var ended = ends.makeAsyncIterator()
                let error = try #require(await ended.next())
                #expect(error?.code == .lost)
                #expect(error?.description.contains("CANCEL") == isReset)
                if !isReset {
                    let answer = try await peer.http2(oneOf: [.data])
                    #expect(answer.stream == 1 && answer.isEnd)
                }
                while server.connectionCount != 2 { try await Task.sleep(for: .milliseconds(5)) }
                let pings = WireFrame(.ping, [7]).bytes(to: .server)
                try await peer.send(HTTP2Wire.data(stream: 3, pings))
                let pong = try await peer.http2(oneOf: [.data])
                #expect(pong.stream == 3 && pong.payload == WireFrame(.pong, [7]).bytes(to: .client))
            }
        }

        @Test func `a head that is too long ends the connection`() async throws {
            try await server { $0.limits.head = 1000 }.withRunning { server in
                let peer = try await begin(server)
                // The server's limits apply once the client has acknowledged its settings.
                _ = try await peer.http2(.settings)
                try await peer.send(HTTP2Wire.frame(.settings, flags: 1))
                let long = [0x00, 0x01, 0x78, 0x7F, 0x81, 0x0F] + [UInt8](repeating: 0x61, count: 2048)
                try await peer.send(HTTP2Wire.frame(.headers, flags: 5, stream: 1, Self.get + long))
                _ = await peer.readToEnd()
            }
        }

        @Test(arguments: [true, false])
        func `a client that sends no request is dropped at the handshake timeout`(hasPreface: Bool) async throws {
            try await server { $0.timeouts.handshake = .milliseconds(100) }.withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                // On a busy machine the server may drop the peer before the send.
                try? await peer.send(hasPreface ? Self.beginning : Array("PRI * HTT".utf8))
                _ = await peer.readToEnd()
            }
        }

        @Test func `an idle connection gets GOAWAY and is closed`() async throws {
            try await server { $0.http2.idleTimeout = .milliseconds(100) }.withRunning { server in
                let peer = try await begin(server)
                try await peer.send(HTTP2Wire.frame(.headers, flags: 5, stream: 1, Self.get))
                #expect(try await peer.http2(.goAway).suffix(4) == [0, 0, 0, 0])
                _ = await peer.readToEnd()
            }
        }

        @Test func `a WebSocket beyond the server's connection limit is refused with 503`() async throws {
            try await server { $0.maximumConnections = 2 }.withRunning { server in
                let configuration = WebSocketConfiguration.with { $0.httpVersion = .http2 }
                let first = try await WebSocketConnection.connect(to: server.url(), configuration: configuration)
                let error = await #expect(throws: WebSocketError.self) {
                    try await WebSocketConnection.connect(to: server.url(), configuration: configuration)
                }
                #expect(error?.transport.response?.status == 503)
                await first.close()
            }
        }
    }
}
