import Holdfast
import HoldfastServer
import WebSocketRuntime
import NIOCore
import NIOSSL
import ScriptedPeers
import Testing

/// Answers of a proxy, and the errors that the app gets; Interop/proxies has tests with real proxies.
@Suite struct WaysProxyTests {
    /// Connects to `target` through a proxy that runs `script`.
    private func connect(
        _ target: String = "ws://server.example:81/feed", through kind: String = "http",
        handshake: Duration = .seconds(60),
        _ script: @escaping @Sendable (ScriptedPeer) async throws -> Void,
        _ body: (Result<WebSocketConnection, WebSocketError>) async throws -> Void
    ) async throws {
        try await withScriptedServer(script) { url in
            let proxyURL = try WebSocketURL(url)
            var configuration = WebSocketConfiguration.with { _ in }
            configuration.proxy = .through(try Proxy("\(kind)://me:s3cr3t@\(proxyURL.host):\(proxyURL.port)"))
            configuration.timeouts.handshake = handshake
            let result: Result<WebSocketConnection, WebSocketError>
            do throws(WebSocketError) {
                result = .success(try await WebSocketConnection.connect(to: target, configuration: configuration))
            } catch {
                #expect(!error.description.contains("s3cr3t"))
                result = .failure(error)
            }
            try await body(result)
            if case .success(let connection) = result { connection.abort() }
        }
    }

    @Test func `a client sends CONNECT to the proxy, and the upgrade to the server behind it`() async throws {
        try await connect { peer in
            let request = try await peer.readRequest()
            #expect((request.method, request.target) == ("CONNECT", "server.example:81"))
            #expect(request.headers["Proxy-Authorization"] == "Basic bWU6czNjcjN0")
            try await peer.send("HTTP/1.1 200 OK\r\n\r\n")
            let upgrade = try await peer.acceptUpgrade(then: WireFrame.text("through").bytes(to: .client))
            #expect(upgrade.headers["Host"] == "server.example:81")
            #expect(upgrade.headers["Proxy-Authorization"] == nil)
            _ = await peer.readToEnd()
        } _: { result in
            try await result.get().expect(.text("through"))
        }
    }

    @Test func `a SOCKS proxy opens a tunnel too`() async throws {
        try await connect(through: "socks5") { peer in
            #expect(try await peer.read(4) == [5, 2, 0, 2])
            try await peer.send([5, 0])
            _ = try await peer.read(4 + 1 + "server.example".utf8.count + 2)
            try await peer.sendByteByByte([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
            try await peer.acceptUpgrade(then: WireFrame.text("through").bytes(to: .client))
            _ = await peer.readToEnd()
        } _: { result in
            try await result.get().expect(.text("through"))
        }
    }

    @Test(arguments: [(407, false), (403, false), (502, true), (503, true)])
    func `a refusal of the proxy is its own error, and may be retried if it is temporary`(status: Int, isRetryable: Bool) async throws {
        try await connect { peer in
            _ = try await peer.readRequest()
            try await peer.send("HTTP/1.1 \(status) No\r\n\r\n")
        } _: { result in
            let error = #expect(throws: WebSocketError.self) { try result.get() }
            #expect((error?.code, error?.httpStatus, error?.isRetryable) == (.proxyFailed, status, isRetryable))
            #expect(error?.description.contains("the proxy http://127.0.0.1:") == true)
        }
    }

    @Test func `a proxy that is silent or closes is an error`() async throws {
        try await connect(handshake: .milliseconds(50)) { peer in
            _ = await peer.readToEnd()
        } _: { result in
            #expect(#expect(throws: WebSocketError.self) { try result.get() }?.code == .timedOut)
        }
        try await connect {
            _ = try await $0.readRequest()
        } _: { result in
            let error = #expect(throws: WebSocketError.self) { try result.get() }
            #expect((error?.code, error?.isRetryable) == (.lost, true))
        }
    }

    /// Connects to `target` through a proxy within TLS, which answers CONNECT and closes.
    private func connectWithinTLS(
        _ target: String, authority: KeyPath<TestCertificates, String>
    ) async throws -> (error: WebSocketError?, requests: [String]) {
        let certificates = try TestCertificates.shared()
        let identity = certificates.identity(nil)
        let tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(identity.certificate).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: identity.key, format: .pem)))
        let context = try NIOSSLContext(configuration: tls)
        let requests = LockedValue<[String]>([])
        var error: WebSocketError?
        try await withScriptedServer { channel in
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
        } _: { peer in
            guard let request = try? await peer.readRequest() else { return }
            requests.withLockedValue { $0.append("\(request.method) \(request.target)") }
            try? await peer.send("HTTP/1.1 200 OK\r\n\r\n")
        } client: { url in
            var configuration = WebSocketConfiguration.with { _ in }
            configuration.proxy = .through(try Proxy(.https, host: "localhost", port: WebSocketURL(url).port))
            configuration.proxyTLS.trust = .file(certificates[keyPath: authority])
            error = await #expect(throws: WebSocketError.self) {
                try await WebSocketConnection.connect(to: target, configuration: configuration)
            }
        }
        return (error, requests.withLockedValue { $0 })
    }

    @Test(arguments: ["ws://server.example:81/", "wss://server.example:81/"])
    func `TLS events of the proxy connection are not attributed to the server`(target: String) async throws {
        let (error, requests) = try await connectWithinTLS(target, authority: \.authority)
        #expect(requests == ["CONNECT server.example:81"])
        #expect(error?.code == .lost, "\(String(describing: error))")
        #expect(error?.description.contains(target) == true)
    }

    @Test func `a proxy with an untrusted certificate gets no request`() async throws {
        let (error, requests) = try await connectWithinTLS("wss://server.example:81/", authority: \.strangeAuthority)
        #expect(requests.isEmpty)
        #expect((error?.code, error?.isRetryable) == (.unknownAuthority, false))
        #expect(error?.description.contains("TLS with the proxy https://localhost:") == true)
    }

    @Test func `a proxy that refuses connections is named in the error`() async throws {
        let configuration = WebSocketConfiguration.with { $0.proxy = .environment(ProxyEnvironment(["ALL_PROXY": "127.0.0.1:1"])) }
        let error = await #expect(throws: WebSocketError.self) {
            try await WebSocketConnection.connect(to: "ws://server.example/", configuration: configuration)
        }
        #expect(error?.description == "could not connect to the proxy http://127.0.0.1:1: connection refused; may be retried")
    }

    @Test func `an invalid proxy variable of the environment is named in the error`() async throws {
        let configuration = WebSocketConfiguration.with { $0.proxy = .environment(ProxyEnvironment(["ALL_PROXY": "gopher://h"])) }
        let error = await #expect(throws: WebSocketError.self) {
            try await WebSocketConnection.connect(to: "ws://server.example/", configuration: configuration)
        }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.description.contains("ALL_PROXY") == true)
    }
}
