import Holdfast
import HoldfastServer
import WebSocketRuntime
import ScriptedPeers
import Testing

@Suite struct WaysRedirectTests {
    /// Redirects `/from` to `location`, and echoes the request of any other path.
    private static func server(_ location: @escaping @Sendable () -> String) -> WebSocketServer {
        var configuration = WebSocketServerConfiguration()
        configuration.port = 0
        configuration.origins = .any
        return WebSocketServer(configuration: configuration) { request in
            guard request.path == "/from" else { return .accept }
            return .refuse(HTTPResponse(status: 307, headers: ["Location": location()]))
        } handler: { connection, request in
            let fields = ["Authorization", "Cookie", "X-Api-Key", "Origin", "Sec-WebSocket-Protocol"].map { request.headers[$0] ?? "-" }
            try await connection.send(.text(([request.head.target] + fields).joined(separator: " ")))
        }
    }

    private static func configuration(_ redirects: RedirectPolicy) -> WebSocketConfiguration {
        .with {
            $0.headers = ["Authorization": "Bearer:t", "Cookie": "c=1", "X-Api-Key": "k", "Origin": "https://app"]
            $0.subprotocols = ["chat", "bearer.t0ken"]
            $0.redirects = redirects
        }
    }

    @Test func `a redirect within the origin keeps all fields`() async throws {
        try await Self.server { "/to?x" }.withRunning { server in
            try await WebSocketConnection.withConnection(to: server.url("/from"), configuration: Self.configuration(RedirectPolicy())) {
                try await $0.expect(.text("/to?x Bearer:t c=1 k https://app chat, bearer.t0ken"))
            }
        }
    }

    @Test func `a redirect to another port drops the credentials`() async throws {
        try await Self.server { "" }.withRunning { other in
            let url = other.url("/to")
            try await Self.server { url }.withRunning { server in
                try await WebSocketConnection.withConnection(to: server.url("/from"), configuration: Self.configuration(RedirectPolicy())) {
                    try await $0.expect(.text("/to - - - https://app chat"))
                }
            }
        }
    }

    @Test func `a redirect to another port keeps only public subprotocols`() async throws {
        try await Self.server { "" }.withRunning { other in
            let url = other.url("/to")
            try await Self.server { url }.withRunning { server in
                var configuration = Self.configuration(RedirectPolicy())
                configuration.subprotocols = ["my.own", "t0ken", "mqtt"]
                configuration.publicSubprotocols.insert("my.own")
                try await WebSocketConnection.withConnection(to: server.url("/from"), configuration: configuration) {
                    try await $0.expect(.text("/to - - - https://app my.own, mqtt"))
                }
                configuration.publicSubprotocols = []
                try await WebSocketConnection.withConnection(to: server.url("/from"), configuration: configuration) {
                    try await $0.expect(.text("/to - - - https://app -"))
                }
            }
        }
    }

    @Test(arguments: [CredentialPlacement.bearer, .header("X-Api-Key"), .cookie("c"), .query("t"), .subprotocol(prefix: "t-")])
    func `the credential of a session is not sent to another origin, wherever it is placed`(placement: CredentialPlacement) async throws {
        try await Self.server { "" }.withRunning { other in
            let url = other.url("/to")
            try await Self.server { url }.withRunning { server in
                let socket = WebSocket(server.url("/from")) {
                    $0.connection.subprotocols = ["chat", "t0ken"]
                    $0.connection.redirects = RedirectPolicy()
                    $0.credentials = CredentialProvider(placement) { Credential("s3cr3t") }
                }
                var received: Message?
                for await event in socket.events {
                    guard case .message(let message) = event else { continue }
                    received = message
                    break
                }
                #expect(received == .text("/to - - - - chat"))
                await socket.close()
            }
        }
    }

    @Test func `redirects are not followed by default`() async throws {
        try await Self.server { "/to" }.withRunning { server in
            let error = await #expect(throws: WebSocketError.self) { try await WebSocketConnection.connect(to: server.url("/from")) }
            #expect((error?.code, error?.httpStatus, error?.isRetryable) == (.refused, 307, false))
        }
    }

    @Test func `a redirect loop ends at the limit`() async throws {
        let requestCount = LockedValue(0)
        let loop = Self.server {
            requestCount.withLockedValue { $0 += 1 }
            return "/from"
        }
        try await loop.withRunning { server in
            let error = await #expect(throws: WebSocketError.self) {
                try await WebSocketConnection.connect(to: server.url("/from"), configuration: Self.configuration(RedirectPolicy(limit: 3)))
            }
            #expect((error?.code, error?.httpStatus, error?.isRetryable) == (.refused, 307, false))
            #expect((error?.underlying as? RedirectProblem)?.code == .tooMany)
            #expect(requestCount.withLockedValue { $0 } == 4)
        }
    }

    @Test func `the target of a redirect may use another proxy or none`() async throws {
        try await Self.server { "" }.withRunning { other in
            let url = other.url("/to")
            try await Self.server { url }.withRunning { server in
                let (serverURL, targetURL) = (try WebSocketURL(server.url()), try WebSocketURL(url))
                var configuration = Self.configuration(RedirectPolicy())
                configuration.proxy = .environment(
                    ProxyEnvironment(["HTTP_PROXY": "127.0.0.1:1", "NO_PROXY": "\(serverURL.host):\(serverURL.port)"]))
                let error = await #expect(throws: WebSocketError.self) {
                    try await WebSocketConnection.connect(to: server.url("/from"), configuration: configuration)
                }
                #expect(error?.description.contains("could not connect to the proxy http://127.0.0.1:1") == true)
                try await withScriptedServer { proxy in
                    _ = try await proxy.readRequest()
                    try await proxy.send("HTTP/1.1 200 OK\r\n\r\n")
                    _ = try await proxy.readRequest()
                    try await proxy.send("HTTP/1.1 307 Away\r\nLocation: \(url)\r\nContent-Length: 0\r\n\r\n")
                } client: { proxy in
                    configuration.proxy = .environment(
                        ProxyEnvironment(
                            ["HTTP_PROXY": String(proxy.dropFirst("ws://".count)), "NO_PROXY": "\(targetURL.host):\(targetURL.port)"]))
                    try await WebSocketConnection.withConnection(to: "ws://127.0.0.1:9/from", configuration: configuration) {
                        try await $0.expect(.text("/to - - - https://app chat"))
                    }
                }
            }
        }
    }
}
