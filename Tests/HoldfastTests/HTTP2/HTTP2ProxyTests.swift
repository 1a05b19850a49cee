import Holdfast
import HoldfastServer
import WebSocketRuntime
import NIOCore
import NIOSSL
import ScriptedPeers
import Testing

extension SocketTests {
    /// HTTP/2 within a proxy tunnel; Interop/proxies has tests with real proxies.
    @Suite struct HTTP2ProxyTests {
        private let certificates = Result { try TestCertificates.shared() }

        /// Runs our server over TLS behind a proxy that is plain HTTP or within TLS; `requests` are the request lines the proxy got.
        private func withProxy(
            _ kind: Proxy.Kind, server version: HTTPVersion,
            _ body: (_ server: RunningServer, _ proxy: Proxy, _ requests: () -> [String]) async throws -> Void
        ) async throws {
            let identity = try certificates.get().identity(nil)
            var configuration = WebSocketServerConfiguration()
            configuration.tls = ServerTLSOptions(certificateChainFile: identity.certificate, privateKeyFile: identity.key)
            configuration.httpVersion = version
            let server = WebSocketServer(configuration: configuration) { connection, request in
                try await connection.send(.text("HTTP/\(request.httpVersion)"))
                for try await message in connection.messages { try await connection.send(message) }
            }
            let tls = TLSConfiguration.makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(identity.certificate).map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: identity.key, format: .pem)))
            let context = try NIOSSLContext(configuration: tls)
            let requests = LockedValue<[String]>([])
            try await server.withRunning { server in
                let port = server.port
                try await withScriptedServer { channel in
                    if kind == .https { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context)) }
                    try channel.pipeline.syncOperations.addHandler(ScriptedProxyRelay(to: port, requests))
                } _: { peer in
                    _ = await peer.readToEnd()
                } client: { url in
                    let proxy = try Proxy(kind, host: "localhost", port: WebSocketURL(url).port)
                    try await body(server, proxy) { requests.withLockedValue { $0 } }
                }
            }
        }

        private func connect(_ server: RunningServer, _ version: HTTPVersion, through proxy: Proxy?) async throws -> WebSocketConnection {
            let authority = try certificates.get().authority
            let configuration = WebSocketConfiguration.with {
                $0.httpVersion = version
                $0.tls.trust = .file(authority)
                $0.proxyTLS.trust = .file(authority)
                if let proxy { $0.proxy = .through(proxy) }
            }
            return try await WebSocketConnection.connect(to: "wss://localhost:\(server.port)/", configuration: configuration)
        }

        @Test(arguments: [Proxy.Kind.http, .https], [HTTPVersion.http2, .automatic])
        func `several WebSockets share one tunnel through a proxy`(kind: Proxy.Kind, version: HTTPVersion) async throws {
            try await withProxy(kind, server: .automatic) { server, proxy, requests in
                let sockets = [try await connect(server, version, through: proxy), try await connect(server, version, through: proxy)]
                for (number, socket) in sockets.enumerated() {
                    try await socket.expect(.text("HTTP/2"))
                    try await socket.send(block(number))
                    try await socket.expect(block(number))
                }
                #expect(requests() == ["CONNECT localhost:\(server.port) HTTP/1.1"])
                for socket in sockets { #expect(await socket.close().isClean) }
            }
        }

        @Test func `a direct connection is not shared with one through a proxy`() async throws {
            try await withProxy(.http, server: .automatic) { server, proxy, requests in
                let direct = try await connect(server, .http2, through: nil)
                #expect(requests().isEmpty)
                let other = try await connect(server, .http2, through: proxy)
                #expect(requests().count == 1 && server.connectionCount == 4)
                await direct.close()
                await other.close()
            }
        }

        @Test(arguments: [Proxy.Kind.http, .https])
        func `a server without HTTP 2 behind a proxy gets an HTTP 1 request in the same tunnel`(kind: Proxy.Kind) async throws {
            try await withProxy(kind, server: .http1) { server, proxy, requests in
                let socket = try await connect(server, .automatic, through: proxy)
                try await socket.expect(.text("HTTP/1"))
                #expect(requests().count == 1)
                #expect(await socket.close().isClean)
            }
        }

        @Test func `settings that arrive together with the proxy's answer are processed`() async throws {
            try await withScriptedServer { peer in
                #expect(try await peer.readRequest().target == "server.example:81")
                try await peer.send(Array("HTTP/1.1 200 OK\r\n\r\n".utf8) + HTTP2Wire.settings)
                _ = try await peer.read(HTTP2Wire.preface)
                _ = try await peer.http2(.headers)
                let message = HTTP2Wire.data(stream: 1, WireFrame.text("through").bytes(to: .client))
                try await peer.send(HTTP2Wire.accepted(stream: 1) + message)
                _ = await peer.readToEnd()
            } client: { url in
                let socket = try await WebSocketConnection.connect(
                    to: "ws://server.example:81/", configuration: try configuration(proxyAt: url))
                try await socket.expect(.text("through"))
                socket.abort()
            }
        }

        @Test func `each client that waits for the tunnel gets the proxy's refusal`() async throws {
            let requests = LockedValue(0)
            try await withScriptedServer { peer in
                _ = try await peer.readRequest()
                requests.withLockedValue { $0 += 1 }
                try await peer.send("HTTP/1.1 403 No\r\n\r\n")
            } client: { url in
                let configuration = try configuration(proxyAt: url)
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<3 {
                        group.addTask {
                            let error = await #expect(throws: WebSocketError.self) {
                                try await WebSocketConnection.connect(to: "ws://server.example:81/", configuration: configuration)
                            }
                            #expect((error?.code, error?.httpStatus, error?.isRetryable) == (.proxyFailed, 403, false))
                        }
                    }
                }
            }
            #expect((1...3).contains(requests.withLockedValue { $0 }))
        }

        private func configuration(proxyAt url: String) throws -> WebSocketConfiguration {
            let proxy = try Proxy(.http, host: "127.0.0.1", port: try WebSocketURL(url).port)
            return .with {
                $0.httpVersion = .http2
                $0.proxy = .through(proxy)
            }
        }
    }
}
