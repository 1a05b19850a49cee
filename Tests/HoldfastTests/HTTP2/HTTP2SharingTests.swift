import Holdfast
import HoldfastServer
import WebSocketRuntime
import NIOCore
import NIOSSL
import ScriptedPeers
import Testing

extension SocketTests {
    /// Which WebSockets share a TCP connection, and how they affect each other.
    @Suite struct HTTP2SharingTests {
        private let configuration = WebSocketConfiguration.with { $0.httpVersion = .http2 }

        private func connect(_ url: String) async throws -> WebSocketConnection {
            try await WebSocketConnection.connect(to: url, configuration: configuration)
        }

        @Test func `another server, and another host name of the same server, use another connection`() async throws {
            let server = WebSocketServer.echo { $0.httpVersion = .automatic }
            try await server.withRunning { one in
                try await server.withRunning { two in
                    let sockets = [
                        try await connect(one.url()), try await connect(two.url()), try await connect("ws://localhost:\(one.port)/"),
                    ]
                    #expect(one.connectionCount == 4 && two.connectionCount == 2)
                    for socket in sockets { await socket.close() }
                }
            }
        }

        @Test func `a WebSocket with another receive buffer does not share a connection`() async throws {
            try await WebSocketServer.echo { $0.httpVersion = .automatic }.withRunning { server in
                let plain = try await connect(server.url())
                var largeBuffer = configuration
                largeBuffer.limits.receiveBuffer *= 2
                let other = try await WebSocketConnection.connect(to: server.url(), configuration: largeBuffer)
                #expect(server.connectionCount == 4)
                await plain.close()
                await other.close()
            }
        }

        @Test func `a WebSocket cancelled before its request sends nothing on the shared connection`() async throws {
            try await withScriptedServer { peer in
                try await peer.beginHTTP2()
                _ = try await peer.http2(.headers)
                try await peer.send(HTTP2Wire.accepted(stream: 1))
                let next = try await peer.http2(oneOf: [.headers, .reset, .data])
                #expect(next.kind == .data && next.stream == 1)
                try await peer.send(HTTP2Wire.data(stream: 1, WireFrame.text("so am I").bytes(to: .client)))
                _ = await peer.readToEnd()
            } client: { url in
                let first = try await connect(url)
                let cancelled = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await connect(url)
                }
                let error = await #expect(throws: WebSocketError.self) { try await cancelled.value }
                #expect(error?.code == .cancelled)
                try await first.send(.text("still here"))
                try await first.expect(.text("so am I"))
                first.abort()
            }
        }

        @Test func `a WebSocket cancelled after its request resets its stream, and the connection accepts others`() async throws {
            let (requests, requested) = AsyncStream.makeStream(of: Void.self)
            try await withScriptedServer { peer in
                try await peer.beginHTTP2()
                _ = try await peer.http2(.headers)
                try await peer.send(HTTP2Wire.accepted(stream: 1))
                #expect(try await peer.http2(oneOf: [.headers]).stream == 3)
                requested.yield()
                let reset = try await peer.http2(oneOf: [.reset])
                #expect(reset.stream == 3 && reset.payload == [0, 0, 0, 8], "CANCEL")
                #expect(try await peer.http2(oneOf: [.headers]).stream == 5)
                try await peer.send(HTTP2Wire.accepted(stream: 5))
                _ = await peer.readToEnd()
            } client: { url in
                let first = try await connect(url)
                let cancelled = Task { try await connect(url) }
                var requestEvents = requests.makeAsyncIterator()
                await requestEvents.next()
                cancelled.cancel()
                let error = await #expect(throws: WebSocketError.self) { try await cancelled.value }
                #expect(error?.code == .cancelled)
                let third = try await connect(url)
                third.abort()
                first.abort()
            }
        }

        @Test func `GOAWAY moves streams above its number to another connection and keeps the others`() async throws {
            let (requests, requested) = AsyncStream.makeStream(of: Void.self)
            let count = LockedValue(0)
            try await withScriptedServer { peer in
                try await peer.beginHTTP2()
                _ = try await peer.http2(.headers)
                try await peer.send(HTTP2Wire.accepted(stream: 1))
                guard
                    count.withLockedValue({ count in
                        count += 1; return count
                    }) == 1
                else {
                    _ = await peer.readToEnd()
                    return
                }
                _ = try await peer.http2(.headers)
                try await peer.send(HTTP2Wire.goAway(last: 1))
                requested.yield()
                _ = try await peer.http2(.data)
                try await peer.send(HTTP2Wire.data(stream: 1, WireFrame.text("so am I").bytes(to: .client)))
                _ = try await peer.http2(.data)
            } client: { url in
                let old = try await connect(url)
                async let new = connect(url)
                var requestEvents = requests.makeAsyncIterator()
                await requestEvents.next()
                try await old.send(.text("still here"))
                try await old.expect(.text("so am I"))
                // The scripted server accepts the next connection after it has closed this one.
                try await old.send(.text("bye"))
                #expect(await old.end()?.code == .lost)
                try await new.abort()
            }
            #expect(count.withLockedValue { $0 } == 2)
        }

        @Test func `a server that ends a stream ends its WebSocket, and our side ends the stream too`() async throws {
            try await withScriptedServer { peer in
                try await peer.beginHTTP2()
                _ = try await peer.http2(.headers)
                try await peer.send(HTTP2Wire.accepted(stream: 1) + HTTP2Wire.data(stream: 1, [], isEnd: true))
                #expect(try await peer.http2(oneOf: [.data]).isEnd)
                _ = await peer.readToEnd()
            } client: { url in
                let socket = try await connect(url)
                #expect(await socket.end()?.code == .lost)
            }
        }

        @Test(arguments: [HTTPVersion.automatic, .http2])
        func `after HTTP_1_1_REQUIRED the client uses HTTP 1 if allowed, also for later connections`(version: HTTPVersion) async throws {
            let certificates = try TestCertificates.shared()
            let identity = certificates.identity(nil)
            var tls = TLSConfiguration.makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(identity.certificate).map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: identity.key, format: .pem)))
            tls.applicationProtocols = ["h2", "http/1.1"]
            let context = try NIOSSLContext(configuration: tls)
            let count = LockedValue(0)
            try await withScriptedServer { channel in
                try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
            } _: { peer in
                if count.withLockedValue({ count in
                    count += 1; return count
                }) == 1 {
                    try await peer.beginHTTP2()
                    _ = try await peer.http2(.headers)
                    try await peer.send(HTTP2Wire.reset(stream: 1, 13))
                } else {
                    try await peer.acceptUpgrade()
                }
                _ = await peer.readToEnd()
            } client: { url in
                let configuration = WebSocketConfiguration.with {
                    $0.httpVersion = version
                    $0.tls.trust = .file(certificates.authority)
                }
                let secure = "wss://localhost:\(try WebSocketURL(url).port)/"
                guard version == .automatic else {
                    let error = await #expect(throws: WebSocketError.self) {
                        try await WebSocketConnection.connect(to: secure, configuration: configuration)
                    }
                    #expect(error?.code == .invalidHandshake && error?.isRetryable == false)
                    #expect(error?.description.contains("HTTP_1_1_REQUIRED") == true)
                    return
                }
                for _ in 0..<2 {
                    let socket = try await WebSocketConnection.connect(to: secure, configuration: configuration)
                    #expect(socket.response.majorVersion == 1)
                    socket.abort()
                }
            }
            #expect(count.withLockedValue { $0 } == (version == .automatic ? 3 : 1))
        }
    }
}
