import Foundation
import Holdfast
import HoldfastServer
import NIOCore
import NIOSSL
import ScriptedPeers
import Testing

extension SocketTests {
    /// The HTTP version that client and server agree on over TLS.
    @Suite struct HTTP2TLSTests {
        private let certificates = Result { try TestCertificates.shared() }

        /// A server that sends each client its HTTP version.
        private func server(_ configure: (inout WebSocketServerConfiguration) -> Void = { _ in }) throws -> WebSocketServer {
            let identity = try certificates.get().identity(nil)
            var configuration = WebSocketServerConfiguration()
            configuration.tls = ServerTLSOptions(certificateChainFile: identity.certificate, privateKeyFile: identity.key)
            configuration.httpVersion = .automatic
            configure(&configuration)
            return WebSocketServer(configuration: configuration) { connection, request in
                try await connection.send(.text("HTTP/\(request.httpVersion)"))
                for try await message in connection.messages { try await connection.send(message) }
            }
        }

        private func client(_ version: HTTPVersion) throws -> WebSocketConfiguration {
            let authority = try certificates.get().authority
            return .with {
                $0.httpVersion = version
                $0.tls.trust = .file(authority)
            }
        }

        private func connect(_ server: RunningServer, _ version: HTTPVersion) async throws -> WebSocketConnection {
            try await WebSocketConnection.connect(to: "wss://localhost:\(server.port)/", configuration: try client(version))
        }

        @Test(arguments: HTTPVersion.allCases, HTTPVersion.allCases)
        func `client and server use HTTP 2 if both support it, and either can force a version`(
            client: HTTPVersion, server version: HTTPVersion
        ) async throws {
            try await server { $0.httpVersion = version }.withRunning { server in
                let expected =
                    switch (client, version) {
                    case (.http1, .http2), (.http2, .http1): 0
                    case (.http1, _), (_, .http1): 1
                    default: 2
                    }
                if expected == 0 {
                    let error = await #expect(throws: WebSocketError.self) { try await connect(server, client) }
                    #expect(error?.isRetryable == false || client == .http1)
                    return
                }
                let connection = try await connect(server, client)
                try await connection.expect(.text("HTTP/\(expected)"))
                #expect(await connection.close().isClean)
            }
        }

        @Test func `without WebSockets over HTTP 2 the client uses HTTP 1, and the next time at once`() async throws {
            try await server { $0.http2.offersWebSockets = false }.withRunning { server in
                for _ in 0..<2 {
                    let connection = try await connect(server, .automatic)
                    try await connection.expect(.text("HTTP/1"))
                    await connection.close()
                }
                let error = await #expect(throws: WebSocketError.self) { try await connect(server, .http2) }
                #expect(error?.description.contains("opens no WebSockets over HTTP/2") == true)
            }
        }

        @Test func `a connect that is cancelled while HTTP 1 was chosen closes its connection`() async throws {
            let identity = try certificates.get().identity(nil)
            var tls = TLSConfiguration.makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(identity.certificate).map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: identity.key, format: .pem)))
            tls.applicationProtocols = ["http/1.1"]
            let context = try NIOSSLContext(configuration: tls)
            let (requests, requested) = AsyncStream.makeStream(of: Void.self)
            try await withScriptedServer { channel in
                try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
            } _: { peer in
                _ = try await peer.readRequest()
                requested.yield()
                // The read ends when the client has closed the connection.
                _ = await peer.readToEnd()
            } client: { url in
                var configuration = try client(.automatic)
                configuration.timeouts.handshake = .seconds(3600)
                let attempt = Task { [configuration] in
                    try await WebSocketConnection.connect(
                        to: "wss://localhost:\(WebSocketURL(url).port)/", configuration: configuration)
                }
                for await _ in requests { break }
                attempt.cancel()
                #expect(await #expect(throws: WebSocketError.self) { try await attempt.value }?.code == .cancelled)
            }
        }

        @Test func `large messages pass, and several WebSockets share the connection`() async throws {
            try await server().withRunning { server in
                let sockets = [try await connect(server, .http2), try await connect(server, .automatic), try await connect(server, .http2)]
                // `.automatic` offers another list of protocols by ALPN, so it uses a connection of its own.
                #expect(server.connectionCount == 3 + 2)
                let message = Message.binary((0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) })
                for socket in sockets {
                    try await socket.expect(.text("HTTP/2"))
                    try await socket.send(message)
                }
                for socket in sockets { try await socket.expect(message) }
                for socket in sockets { #expect(await socket.close().isClean) }
            }
        }

        @Test func `a WebSocket with other trust settings does not share a trusted connection`() async throws {
            let otherAuthority = try certificates.get().strangeAuthority
            try await server().withRunning { server in
                let trusting = try await connect(server, .http2)
                var configuration = try client(.http2)
                configuration.tls.trust = .file(otherAuthority)
                let url = "wss://localhost:\(server.port)/"
                let error = await #expect(throws: WebSocketError.self) {
                    try await WebSocketConnection.connect(to: url, configuration: configuration)
                }
                #expect(error?.code == .unknownAuthority)
                await trusting.close()
            }
        }

        @Test func `after leaveSharedConnection a new WebSocket uses another connection`() async throws {
            try await server().withRunning { server in
                let old = try await connect(server, .http2)
                old.transport.leaveSharedConnection()
                let new = try await connect(server, .http2)
                #expect(server.connectionCount == 4)
                await old.close()
                await new.close()
            }
        }
    }
}
