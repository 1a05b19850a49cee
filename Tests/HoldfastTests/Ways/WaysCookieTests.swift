import Holdfast
import HoldfastServer
import WebSocketRuntime
import ScriptedPeers
import Testing
import WebSocketApple

/// Cookies that servers set in the handshake; WebSocketCoreTests tests the rules of the jar.
@Suite struct WaysCookieTests {
    /// Sends the received cookies; sets one in each answer: a 101, a refusal (`/refuse`) or a redirect (`/from`).
    private static let server = WebSocketServer { request in
        let cookie = { (name: String) in ("Set-Cookie", "\(name)=\(request.headers["Cookie"] == nil ? 1 : 2); Path=/") }
        switch request.path {
        case "/from": return .refuse(HTTPResponse(status: 302, headers: ["Location": "/to", "Set-Cookie": cookie("redirect").1]))
        case "/refuse": return .refuse(HTTPResponse(status: 403, headers: ["Set-Cookie": cookie("refusal").1]))
        default: return .accept(subprotocol: nil, headers: ["Set-Cookie": cookie("open").1])
        }
    } handler: { connection, request in
        try await connection.send(.text(request.headers["Cookie"] ?? "none"))
    }

    private func expect(_ cookies: String, at url: String, _ configuration: WebSocketConfiguration) async throws {
        try await WebSocketConnection.withConnection(to: url, configuration: configuration) { try await $0.expect(.text(cookies)) }
    }

    @Test func `a cookie from an answer is sent with the next handshake`() async throws {
        try await Self.server.withRunning { server in
            let configuration = WebSocketConfiguration.with {
                $0.cookies = CookieStore()
                $0.redirects = RedirectPolicy()
            }
            try await expect("none", at: server.url(), configuration)
            try await expect("open=1", at: server.url(), configuration)
            await #expect(throws: WebSocketError.self) {
                try await WebSocketConnection.connect(to: server.url("/refuse"), configuration: configuration)
            }
            try await expect("open=2; refusal=2; redirect=2", at: server.url("/from"), configuration)
        }
    }

    @Test func `no cookie is kept without a store, and two stores share none`() async throws {
        try await Self.server.withRunning { server in
            for _ in 0..<2 { try await expect("none", at: server.url(), .with { _ in }) }
            for _ in 0..<2 { try await expect("none", at: server.url(), .with { $0.cookies = CookieStore() }) }
            let shared = CookieStore()
            try await expect("none", at: server.url(), .with { $0.cookies = shared })
            try await expect("open=1", at: server.url(), .with { $0.cookies = shared })
        }
    }

    @Test func `a session sends its cookies when it reconnects`() async throws {
        try await Self.server.withRunning { server in
            let socket = WebSocket(server.url()) { options in
                options.connection.cookies = CookieStore()
                (options.reconnect.backoff.base, options.reconnect.spacing) = (.milliseconds(10), .zero)
                options.reconnect.losses[.closed(.normal, by: .remote)] = .retry
            }
            var told: [Message] = []
            for await event in socket.events {
                guard case .message(let message) = event else { continue }
                told.append(message)
                if told.count == 2 { break }
            }
            #expect(told == [.text("none"), .text("open=1")])
            await socket.close()
        }
    }

    @Test func `another host after a redirect gets only its own cookies`() async throws {
        try await Self.server.withRunning { other in
            let url = other.url("/to").replacing("127.0.0.1", with: "localhost")
            let redirecting = WebSocketServer { _ in
                .refuse(HTTPResponse(status: 307, headers: ["Location": url, "Set-Cookie": "secret=1; Path=/"]))
            } handler: { _, _ in
            }
            try await redirecting.withRunning { server in
                let store = CookieStore()
                store.update { jar in
                    for host in ["127.0.0.1", "localhost"] {
                        Cookie(name: "for", value: host, host: host, isSecure: false).map { jar.insert($0) }
                    }
                }
                let configuration = WebSocketConfiguration.with {
                    $0.cookies = store
                    $0.headers = ["Cookie": "app=1"]
                    $0.redirects = RedirectPolicy(reach: .anyHost)
                }
                try await expect("for=localhost", at: server.url(), configuration)
                let names = ["for for 127.0.0.1/", "for for localhost/", "secret for 127.0.0.1/", "open for localhost/"]
                #expect(store.jar.cookies.map(\.description) == names)
            }
        }
    }

    @Test func `a store reports changes only`() async throws {
        try await Self.server.withRunning { server in
            let told = LockedValue<[String]>([])
            let store = CookieStore { store in told.withLockedValue { $0.append(store.jar.cookies.map(\.value).joined()) } }
            for _ in 0..<4 {
                let connection = try await WebSocketConnection.connect(to: server.url(), configuration: .with { $0.cookies = store })
                await connection.close()
            }
            #expect(told.withLockedValue { $0 } == ["1", "2"])
        }
    }

    @Test func `cookies of the proxy are ignored`() async throws {
        try await withScriptedServer { peer in
            _ = try await peer.readRequest()
            try await peer.send("HTTP/1.1 407 No\r\nSet-Cookie: a=1\r\n\r\n")
        } client: { url in
            let (store, proxyURL) = (CookieStore(), try WebSocketURL(url))
            var configuration = WebSocketConfiguration.with { _ in }
            configuration.proxy = .through(try Proxy(.http, host: proxyURL.host, port: proxyURL.port))
            configuration.cookies = store
            let error = await #expect(throws: WebSocketError.self) {
                try await WebSocketConnection.connect(to: "ws://server.example/", configuration: configuration)
            }
            #expect((error?.code, error?.httpStatus) == (.proxyFailed, 407))
            #expect(store.jar.cookies.isEmpty)
        }
    }

    @Test func `the system's WebSocket refuses a cookie store of ours`() {
        let error = #expect(throws: TransportError.self) {
            try SystemRequest("wss://example.com/", .with { $0.cookies = CookieStore() })
        }
        #expect(error?.code == .invalidConfiguration)
    }
}
