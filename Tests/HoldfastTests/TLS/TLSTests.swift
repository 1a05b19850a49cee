import Foundation
import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// Trust in certificates, which the `openssl` command makes for each run.
    @Suite struct TLSTests {
        private let certificates = Result { try TestCertificates.shared() }

        private func server(_ flaw: TestCertificates.Flaw?) throws -> WebSocketServer {
            let identity = try certificates.get().identity(flaw)
            return .echo { $0.tls = ServerTLSOptions(certificateChainFile: identity.certificate, privateKeyFile: identity.key) }
        }

        private func trusting(_ trust: TLSOptions.Trust, isInsecure: Bool = false) -> WebSocketConfiguration {
            .with { $0.tls = TLSOptions(trust: trust, isInsecure: isInsecure) }
        }

        private func url(_ server: RunningServer, host: String = "localhost") -> String { "wss://\(host):\(server.port)/" }

        private func expectRefusal(
            _ code: WebSocketError.Code, by configuration: WebSocketConfiguration, of url: String
        ) async {
            let error = await #expect(throws: WebSocketError.self) {
                try await WebSocketConnection.connect(to: url, configuration: configuration)
            }
            #expect(error?.code == code)
            #expect(error?.isRetryable == false)
            #expect(error?.description.hasPrefix("TLS with \(url) failed: ") == true)
        }

        @Test(arguments: ["localhost", "127.0.0.1"])
        func `pain 4: the given authority decides`(host: String) async throws {
            let authority = try certificates.get().authority
            let bytes = try Array(String(contentsOfFile: authority, encoding: .utf8).utf8)
            try await server(nil).withRunning { server in
                #expect(server.isSecure && server.url().hasPrefix("wss://"))
                for trust in [.file(authority), .pem(bytes)] as [TLSOptions.Trust] {
                    try await WebSocketConnection.withConnection(to: url(server, host: host), configuration: trusting(trust)) {
                        connection in
                        try await connection.send(.text("secret"))
                        try await connection.expect(.text("secret"))
                    }
                }
            }
        }

        @Test func `pain 4: a certificate of an authority that was not given is refused`() async throws {
            let otherAuthority = try certificates.get().strangeAuthority
            try await server(nil).withRunning { server in
                await expectRefusal(.unknownAuthority, by: trusting(.system), of: url(server))
                await expectRefusal(.unknownAuthority, by: trusting(.file(otherAuthority)), of: url(server))
            }
        }

        @Test(arguments: ["localhost", "127.0.0.1"])
        func `pain 4: a certificate for another host is refused`(host: String) async throws {
            let authority = try certificates.get().authority
            try await server(.wrongHost).withRunning { server in
                await expectRefusal(.wrongHost, by: trusting(.file(authority)), of: url(server, host: host))
            }
        }

        @Test func `pain 4: an expired certificate is refused`() async throws {
            let authority = try certificates.get().authority
            try await server(.expired).withRunning { server in
                await expectRefusal(.certificateExpired, by: trusting(.file(authority)), of: url(server))
            }
        }

        @Test(arguments: [nil] + TestCertificates.Flaw.allCases)
        func `only isInsecure accepts any certificate`(flaw: TestCertificates.Flaw?) async throws {
            try await server(flaw).withRunning { server in
                let configuration = trusting(.system, isInsecure: true)
                try await WebSocketConnection.withConnection(to: url(server), configuration: configuration) { connection in
                    try await connection.send(.text("anyone may read this"))
                    try await connection.expect(.text("anyone may read this"))
                }
            }
        }

        @Test func `pain 4: an authority that cannot be read is an error, and the system's authorities are not used`() async throws {
            let key = try certificates.get().identity(nil).key
            for trust in [.file("/nonexistent/authority.pem"), .file(key), .pem(Array("no certificate".utf8)), .pem([])]
                as [TLSOptions.Trust]
            {
                let error = await #expect(throws: WebSocketError.self) {
                    try await WebSocketConnection.connect(to: "wss://127.0.0.1:1/", configuration: trusting(trust))
                }
                #expect(error?.code == .invalidConfiguration, "\(trust)")
                #expect(error?.isRetryable == false)
            }
        }

        @Test func `a server that does not speak TLS is a TLS failure`() async throws {
            try await withScriptedServer { peer in
                try await peer.send("220 smtp.example ESMTP\r\n")
                _ = await peer.readToEnd()
            } client: { url in
                await expectRefusal(.tls, by: trusting(.system), of: url.replacing("ws://", with: "wss://"))
            }
        }

        @Test func `a server that is silent before TLS ends at the handshake timeout`() async throws {
            try await withScriptedServer { peer in
                _ = await peer.readToEnd()
            } client: { url in
                let configuration = WebSocketConfiguration.with { $0.timeouts.handshake = .milliseconds(100) }
                let error = await #expect(throws: WebSocketError.self) {
                    try await WebSocketConnection.connect(to: url.replacing("ws://", with: "wss://"), configuration: configuration)
                }
                #expect(error?.code == .timedOut)
            }
        }

        @Test func `large messages and close codes pass through TLS`() async throws {
            let authority = try certificates.get().authority
            try await server(nil).withRunning { server in
                let configuration = trusting(.file(authority))
                let connection = try await WebSocketConnection.connect(to: url(server), configuration: configuration)
                let message = Message.binary((0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) })
                for _ in 1...3 { try await connection.send(message) }
                for _ in 1...3 { try await connection.expect(message) }
                let record = await connection.close(code: CloseCode(rawValue: 4001), reason: "done")
                #expect((record.isClean, record.received?.code) == (true, CloseCode(rawValue: 4001)))
            }
        }

        @Test func `a server without a usable certificate does not start`() async throws {
            let authority = try certificates.get().authority
            let server = WebSocketServer.echo {
                $0.tls = ServerTLSOptions(certificateChainFile: authority, privateKeyFile: "/nonexistent/key.pem")
            }
            let error = await #expect(throws: WebSocketError.self) { try await server.withRunning { _ in } }
            #expect(error?.code == .invalidConfiguration)
        }
    }
}
