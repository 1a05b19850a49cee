import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// Other requests on the same port.
    @Suite struct PlainHTTPTests {
        @Test(
            arguments: [
                "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.0\r\n\r\n",
                "GET / HTTP/1.0\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
                "POST /form HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na=b",
            ])
        func `plain requests are answered with 404`(request: String) async throws {
            try await WebSocketServer.echo().withRunning { server in
                let (head, body) = try await ScriptedPeer.ask(server, request)
                #expect((head.status, head.headers["connection"]) == (404, "close"))
                #expect(head.headers["content-length"] == "\(body.utf8.count)")
                #expect(body == "This server only accepts WebSockets.\n")
            }
        }

        private let pages = WebSocketServer(
            http: { request in
                switch request.path {
                case "/health": HTTPResponse(status: 200, text: "well, \(request.method) \(request.query ?? "")")
                case "/broken": HTTPResponse(status: 200, headers: ["X": "a\r\nInjected: b"], body: Array("body".utf8))
                default: .notFound
                }
            }, handler: { _, _ in })

        @Test func `a handler may answer plain requests`() async throws {
            try await pages.withRunning { server in
                let (head, body) = try await ScriptedPeer.ask(server, "GET /health?deep=1 HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect((head.status, body) == (200, "well, GET deep=1"))
                #expect(head.headers["content-type"] == "text/plain; charset=utf-8")
                #expect(try await ScriptedPeer.ask(server, "GET /other HTTP/1.1\r\nHost: x\r\n\r\n").head.status == 404)
            }
        }

        @Test func `HEAD has the length of the body and no body`() async throws {
            try await pages.withRunning { server in
                let (head, body) = try await ScriptedPeer.ask(server, "HEAD /health HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect((head.status, head.headers["content-length"], body) == (200, "\("well, HEAD ".utf8.count)", ""))
            }
        }

        @Test func `a refused HEAD has no body, either`() async throws {
            try await pages.withRunning { server in
                let (head, body) = try await ScriptedPeer.ask(server, "HEAD / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n")
                #expect((head.status, body) == (405, ""))
            }
        }

        @Test func `fields with line breaks become a 500 without a body`() async throws {
            try await pages.withRunning { server in
                let (head, body) = try await ScriptedPeer.ask(server, "GET /broken HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect((head.status, head.headers["injected"], body) == (500, nil, ""))
            }
        }

        @Test func `bytes after the request are dropped, and the answer still arrives`() async throws {
            try await WebSocketServer.echo().withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                try await peer.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n")
                try? await peer.send([UInt8](repeating: 0, count: 4_000_000))
                #expect(try await peer.readResponse().status == 404)
            }
        }
    }
}
