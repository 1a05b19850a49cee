import Holdfast
import NIOCore
import ScriptedPeers
import Testing
import WebSocketNIO

@testable import HoldfastServer

extension SocketTests {
    /// A second HTTP server on the same port.
    @Suite struct GuestServerTests {
        private final class Permit: Sendable {}

        /// Echoes the request with its body.
        ///
        /// `/long` is 64 MB, `/refused` reads no body, and `/held` waits for the test.
        private func server(
            hasPermit: Bool = true, times: PlainGuests.Times = PlainGuests.Times(), held: AsyncStream<Void>? = nil,
            _ configure: (inout WebSocketServerConfiguration) -> Void = { _ in }
        ) -> WebSocketServer {
            var server = WebSocketServer.echo(configure)
            var guests = GuestServer(
                permit: { _ in hasPermit ? Permit() : nil }, answer: { try? await Self.answer($0, held) },
                turnAway: { head, _ in HTTPResponse(status: 503, text: "no permit for \(head.path)") })
            guests.times = times
            server.guests = guests
            return server
        }

        private static func answer(_ exchange: PlainExchange, _ held: AsyncStream<Void>?) async throws {
            let head = ResponseHead(status: 200)
            switch exchange.request.path {
            case "/long":
                try await exchange.begin(head, length: 64 << 20)
                for _ in 1...64 { try await exchange.write(ByteBuffer(repeating: 7, count: 1 << 20)) }
            case "/stream":
                try await exchange.begin(head, length: nil)
                for word in ["one", "", "two"] { try await exchange.write(ByteBuffer(string: word)) }
            case "/refused": try await exchange.begin(ResponseHead(status: 401), length: 0)
            case "/silent": return
            case "/broken":
                try await exchange.begin(head, length: 10)
                return try await exchange.write(ByteBuffer(string: "half"))
            default:
                if exchange.request.path == "/held", let held { for await _ in held { break } }
                var text = "\(exchange.request.method) \(exchange.request.target) "
                do {
                    for try await part in exchange.body { text += String(buffer: part) }
                } catch {
                    text = "\(error)"
                }
                try await exchange.begin(head, length: text.utf8.count)
                try await exchange.write(ByteBuffer(string: text))
            }
            try await exchange.end()
        }

        private static func get(_ path: String, _ fields: String = "") -> String { "GET \(path) HTTP/1.1\r\nHost: x\r\n\(fields)\r\n" }
        private static let post = "POST /form HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na=b"

        /// Reads an answer with a Content-Length.
        private func read(_ peer: ScriptedPeer) async throws -> (head: ResponseHead, body: String) {
            let head = try await peer.readResponse()
            return (head, String(decoding: try await peer.read(Int(head.headers["Content-Length"] ?? "") ?? 0), as: UTF8.self))
        }

        @Test func `the guest gets a plain request with its body, and more requests on the connection`() async throws {
            try await server().withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                for _ in 1...3 {
                    try await peer.send(Self.post)
                    #expect(try await read(peer).body == "POST /form a=b")
                }
                try await peer.sendByteByByte(Array(Self.post.utf8))
                #expect(try await read(peer).body == "POST /form a=b")
                try await peer.send("POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n")
                #expect(try await read(peer).body == "POST /c abc")
                #expect(server.connectionCount == 1)
            }
        }

        @Test func `pipelined requests are answered one after the other`() async throws {
            try await server().withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                try await peer.send((1...100).map { Self.get("/\($0)") + Self.post }.joined())
                for number in 1...100 {
                    #expect(try await read(peer).body == "GET /\(number) ")
                    #expect(try await read(peer).body == "POST /form a=b")
                }
            }
        }

        @Test func `the server reads no more requests while an answer is not read`() async throws {
            var times = PlainGuests.Times()
            times.write = .milliseconds(300)
            try await server(times: times).withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port, buffer: 4096)
                try await peer.stopReading()
                try await peer.send(Self.get("/long"))
                // Until the deadline, only as much can be sent as the buffers of both systems hold.
                var sent = 0
                while sent < 256 << 20, (try? await peer.send([UInt8](repeating: 0, count: 1 << 20))) != nil { sent += 1 << 20 }
                #expect(sent < 64 << 20)
            }
        }

        @Test func `an unread answer is dropped at its deadline`() async throws {
            var times = PlainGuests.Times()
            times.write = .milliseconds(50)
            try await server(times: times).withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port, buffer: 4096)
                try await peer.stopReading()
                try await peer.send(Self.get("/long"))
                while server.connectionCount > 0 { await Task.yield() }
                await peer.close()
            }
        }

        @Test func `an incomplete request times out`() async throws {
            var times = PlainGuests.Times()
            times.request = .milliseconds(50)
            try await server(times: times).withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                try await peer.send("POST /form HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na")
                let answer = try await read(peer)
                #expect(answer.body == "tooSlow" && answer.head.headers["Connection"] == "close")
                #expect(await peer.readToEnd().isEmpty)
            }
        }

        @Test func `an idle connection is kept for longer than a proxy keeps its unused connections`() {
            // nginx, `keepalive_timeout` of an upstream: 60 s.
            #expect(PlainGuests.Times().idle > .seconds(60))
        }

        @Test func `an idle connection is closed after its timeout`() async throws {
            var times = PlainGuests.Times()
            times.idle = .milliseconds(50)
            try await server(times: times).withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                try await peer.send(Self.get("/"))
                _ = try await read(peer)
                #expect(await peer.readToEnd().isEmpty)
            }
        }

        @Test func `a connection may be upgraded after plain requests`() async throws {
            try await server().withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                try await peer.send(Self.get("/"))
                _ = try await read(peer)
                #expect(try await peer.upgrade("/").status == 101)
                try await peer.send([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69])
                #expect(try await peer.read(4) == [0x81, 0x02, 0x68, 0x69])
            }
        }

        @Test func `an upgrade may be pipelined behind a plain request`() async throws {
            try await server().withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                let request = try ScriptedPeer.upgradeRequest()
                try await peer.send(Array(Self.get("/").utf8) + request + [0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69])
                _ = try await read(peer)
                #expect(try await peer.readResponse().status == 101)
                #expect(try await peer.read(4) == [0x81, 0x02, 0x68, 0x69])
            }
        }

        @Test func `an answer of unknown length is chunked, or with HTTP 1.0 ends with the connection`() async throws {
            try await server().withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                try await peer.send(Self.get("/stream"))
                #expect(try await peer.readResponse().headers["Transfer-Encoding"] == "chunked")
                let chunks = "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"
                #expect(try await peer.read(chunks.utf8.count) == Array(chunks.utf8))
                try await peer.send("GET /stream HTTP/1.0\r\n\r\n")
                #expect(try await peer.readResponse().headers["Connection"] == "close")
                #expect(await peer.readToEnd() == Array("onetwo".utf8))
            }
        }

        @Test func `the answer to HEAD has no body`() async throws {
            try await server().withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                try await peer.send("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n" + Self.get("/b"))
                #expect(try await peer.readResponse().status == 200)
                #expect(try await read(peer).body == "GET /b ")
            }
        }

        @Test func `a client that expects 100 Continue gets it`() async throws {
            try await server().withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                try await peer.send("POST /form HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
                #expect(try await peer.readResponse().status == 100)
                try await peer.send("x")
                #expect(try await read(peer).body == "POST /form x")
            }
        }

        @Test func `a connection with an unread body closes after the answer, unless the whole body had arrived`() async throws {
            try await server().withRunning { server in
                let whole = try await ScriptedPeer.connect(to: server.port)
                for _ in 1...2 {
                    try await whole.send("POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na=b")
                    let head = try await whole.readResponse()
                    #expect(head.status == 401 && head.headers["Connection"] == nil)
                }
                let part = try await ScriptedPeer.connect(to: server.port)
                try await part.send("POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\na=b")
                #expect(try await part.readResponse().headers["Connection"] == "close")
                #expect(await part.readToEnd().isEmpty)
            }
        }

        @Test(
            arguments: [
                ("Content-Length: x", 400), ("Content-Length: 3\r\nContent-Length: 3", 400), ("Transfer-Encoding: gzip", 501),
                ("Content-Length: 3\r\nTransfer-Encoding: chunked", 400),
            ])
        func `a request with an ambiguous body never reaches the guest`(fields: String, status: Int) async throws {
            try await server().withRunning { server in
                let (head, _) = try await ScriptedPeer.ask(server, "POST / HTTP/1.1\r\nHost: x\r\n\(fields)\r\n\r\nabc")
                #expect(head.status == status && head.headers["Connection"] == "close")
            }
        }

        @Test func `invalid chunks are an error, after which the connection closes`() async throws {
            try await server().withRunning { server in
                let request = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
                let (head, body) = try await ScriptedPeer.ask(server, request)
                #expect(head.headers["Connection"] == "close" && body.contains("invalid body"))
            }
        }

        @Test func `a missing answer becomes 500, and a partial one closes the connection`() async throws {
            try await server().withRunning { server in
                #expect(try await ScriptedPeer.ask(server, Self.get("/silent")).head.status == 500)
                let (head, body) = try await ScriptedPeer.ask(server, Self.get("/broken"))
                #expect(head.status == 200 && body.utf8.count < 10)
            }
        }

        @Test func `a request without a permit gets that answer, and the connection closes`() async throws {
            try await server(hasPermit: false).withRunning { server in
                let (head, body) = try await ScriptedPeer.ask(server, Self.get("/a") + Self.get("/b"))
                #expect(head.status == 503 && head.headers["Connection"] == "close" && body == "no permit for /a")
            }
        }

        @Test func `a connection beyond the limit gets the same answer as a request without a permit`() async throws {
            try await server { $0.maximumConnections = 0 }.withRunning { server in
                let (head, body) = try await ScriptedPeer.ask(server, Self.get("/a"))
                #expect(head.status == 503 && body == "no permit for /a")
            }
        }

        @Test func `WebSockets open beside plain connections`() async throws {
            try await server().withRunning { server in
                let guest = try await ScriptedPeer.connect(to: server.port)
                try await guest.send(Self.get("/"))
                let connection = try await WebSocketConnection.connect(to: server.url())
                try await connection.send(.text("hello"))
                #expect(try await connection.messages.first { _ in true } == .text("hello"))
                #expect(server.connectionCount == 2)
                await connection.close()
                #expect(try await read(guest).body == "GET / ")
            }
        }

        @Test func `invalid HTTP never reaches the guest`() async throws {
            try await server().withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                try await peer.send("GET / HTTP/1.1\r\nHost : x\r\n\r\n")
                #expect(try await peer.readResponse().status == 400)
            }
        }

        @Test func `an incomplete head is dropped at the handshake deadline`() async throws {
            try await server { $0.timeouts.handshake = .milliseconds(100) }.withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                // On a slow machine the deadline may pass before this.
                try? await peer.send("GET / HTTP/1.1\r\n")
                #expect(await peer.readToEnd().isEmpty)
            }
        }

        @Test func `shutdown waits for a request in progress, which is the last of its connection`() async throws {
            let (held, answering) = AsyncStream.makeStream(of: Void.self)
            let (servers, started) = AsyncStream.makeStream(of: RunningServer.self)
            async let released: Void = Self.release(answering, whenClosing: servers)
            let peer = try await server(held: held) { $0.shutdownGrace = .seconds(60) }.withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                try await peer.send(Self.get("/held"))
                while server.channels.guestCount == 0 { await Task.yield() }
                started.yield(server)
                return peer
            }
            await released
            let answer = try await read(peer)
            #expect(answer.body == "GET /held " && answer.head.headers["Connection"] == "close")
        }

        private static func release(_ answering: AsyncStream<Void>.Continuation, whenClosing servers: AsyncStream<RunningServer>) async {
            guard let server = await servers.first(where: { _ in true }) else { return }
            while !server.channels.isClosing { await Task.yield() }
            answering.yield()
        }

        @Test func `an unanswered request is dropped after the shutdown grace`() async throws {
            let (held, answering) = AsyncStream.makeStream(of: Void.self)
            let peer = try await server(held: held) { $0.shutdownGrace = .milliseconds(50) }.withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                try await peer.send(Self.get("/held"))
                while server.channels.guestCount == 0 { await Task.yield() }
                return peer
            }
            #expect(await peer.readToEnd().isEmpty)
            answering.finish()
        }
    }
}
