import Holdfast
import ScriptedPeers
import SocketIOCore
import Testing
import WebSocketCore
import WebSocketRuntime

@testable import HoldfastSocketIO

/// Long polling with servers that answer what a test says; real servers are in `Interop/socketio`.
@Suite(.timeLimit(.minutes(1))) struct EngineSocketTests {
    private static let first = #"0{"sid":"a/b","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":20000}"#

    private func connect(
        _ url: String, upgrades: Bool = false, _ change: (inout WebSocketConfiguration) -> Void = { _ in }
    ) async throws(WebSocketError) -> WebSocketConnection {
        var configuration = WebSocketConfiguration()
        change(&configuration)
        return try await EngineSocket.connect(to: url + "socket.io/?EIO=4&transport=websocket&x=1", configuration, upgrades: upgrades)
    }

    private static func answer(_ peer: ScriptedPeer, _ body: String, _ status: String = "200 OK", _ headers: String = "") async throws {
        try await peer.send("HTTP/1.1 \(status)\r\n\(headers)Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)")
    }

    /// The error of an attempt that the server answers like this.
    private func failure(
        _ body: String, _ status: String = "200 OK", _ headers: String = "", limit: Int = 1000
    ) async throws -> WebSocketError {
        try await withScriptedServer { peer in
            _ = try await peer.readRequest()
            // The client may leave before the end of a long body.
            try? await Self.answer(peer, body, status, headers)
        } client: { url in
            do {
                let connection = try await connect(url) { $0.limits.message = limit }
                for try await _ in connection.messages {}
            } catch let error as WebSocketError { return error }
            throw CancellationError()
        }
    }

    @Test func `packets come and go by requests of their own`() async throws {
        let targets = LockedValue<[String]>([])
        try await withScriptedServer { peer in
            let request = try await peer.readRequest()
            let number = targets.withLockedValue { targets in
                targets.append("\(request.method) \(request.target) \(request.headers["X-A"] ?? "")")
                return targets.count
            }
            switch number {
            case 1: try await Self.answer(peer, Self.first + "\u{1E}2\u{1E}bAQI=")
            case 2:
                #expect(String(decoding: try await peer.read(6), as: UTF8.self) == "4hello")
                try await Self.answer(peer, "ok")
            default: try await Self.answer(peer, "4bye")
            }
        } client: { url in
            let connection = try await connect(url) { $0.headers["X-A"] = "b" }
            var messages = connection.messages.makeAsyncIterator()
            #expect(try await messages.next() == .text(Self.first))
            #expect(try await messages.next() == .text("2"))
            try await connection.send(.text("4hello"))
            await withCheckedContinuation { written in connection.transport.whenWritten { _ in written.resume() } }
            #expect(try await messages.next() == .binary([1, 2]))
            #expect(try await messages.next() == .text("4bye"))
            connection.abort()
        }
        let query = "/socket.io/?EIO=4&transport=polling&x=1&t="
        let begun = targets.withLockedValue { $0 }
        #expect(begun[0] == "GET \(query)1 b")
        #expect(Set(begun[1...2]) == ["POST \(query)2&sid=a%2Fb b", "GET \(query)3&sid=a%2Fb b"])
    }

    @Test func `the WebSocket gets the cookies of the first answer`() async throws {
        let (cookies, cookie) = AsyncStream.makeStream(of: String?.self)
        try await withScriptedServer { peer in
            let request = try await peer.readRequest()
            if request.target.contains("transport=polling") {
                // The client asks again, and leaves when it wants.
                try? await Self.answer(peer, Self.first, "200 OK", "Set-Cookie: node=a1; Path=/\r\n")
            } else {
                cookie.yield(request.headers["Cookie"])
            }
        } client: { url in
            let connection = try await connect(url, upgrades: true)
            var asked = cookies.makeAsyncIterator()
            #expect(await asked.next() == "node=a1")
            connection.abort()
        }
    }

    @Test func `polling goes on, and answers pings, after a WebSocket that failed`() async throws {
        let (failures, failure) = AsyncStream.makeStream(of: Void.self)
        try await withScriptedServer { peer in
            let request = try await peer.readRequest()
            if request.method == "POST" {
                #expect(String(decoding: try await peer.read(6), as: UTF8.self) == "4hello")
                try await Self.answer(peer, "ok")
            } else if request.target.contains("transport=polling") {
                // The client asks again, and leaves when it wants.
                try? await Self.answer(peer, Self.first)
            } else {
                try await peer.send(
                    try ResponseHead(status: 101, headers: ScriptedPeer.acceptance(of: request, [:])).encoded())
                // The probe arrives, and its answer does not.
                _ = try await peer.read(1)
                await peer.close()
                failure.yield()
            }
        } client: { url in
            let connection = try await connect(url, upgrades: true)
            for await _ in failures { break }
            try await connection.send(.text("4hello"))
            #expect(await withCheckedContinuation { written in connection.transport.whenWritten { written.resume(returning: $0) } })
            #expect(try await connection.ping(timeout: .seconds(5)) < .seconds(5))
            connection.abort()
        }
    }

    @Test func `a refusal has its status`() async throws {
        let error = try await failure(#"{"code":0,"message":"Transport unknown"}"#, "400 Bad Request")
        #expect(error.code == .refused && error.httpStatus == 400)
    }

    @Test func `a redirect is not followed`() async throws {
        let error = try await failure("", "302 Found", "Location: http://127.0.0.1:1/\r\n")
        #expect(error.code == .refused && error.httpStatus == 302)
    }

    @Test(arguments: ["", "hello", "0{}", "\u{1E}", "<html></html>"])
    func `another answer breaks the handshake`(_ body: String) async throws {
        #expect(try await failure(body).code == .invalidHandshake)
    }

    @Test func `a broken packet ends the connection`() async throws {
        #expect(try await failure(Self.first + "\u{1E}b!").code == .lost)
    }

    @Test func `an answer without end fails`() async throws {
        #expect(try await failure(String(repeating: "0", count: 1 << 20)).code == .unreachable)
    }

    @Test func `a packet larger than a message may be fails`() async throws {
        let error = try await failure(Self.first + "\u{1E}4" + String(repeating: "a", count: 1000))
        #expect(error.code == .protocolViolation)
    }

    @Test func `what URLSession cannot honour is an error`() async throws {
        let proxy = try Proxy("http://127.0.0.1:1")
        let changes: [(inout WebSocketConfiguration) -> Void] = [
            { $0.proxy = .through(proxy) }, { $0.cookies = CookieStore() }, { $0.tls.serverName = "a.example" },
        ]
        for change in changes {
            do throws(WebSocketError) {
                _ = try await connect("ws://127.0.0.1:1/", change)
                Issue.record("it connects")
            } catch {
                #expect(error.code == .invalidConfiguration)
            }
        }
    }

    @Test func `an attempt can be cancelled`() async throws {
        let (requests, request) = AsyncStream.makeStream(of: Void.self)
        try await withScriptedServer { peer in
            _ = try await peer.readRequest()
            request.yield()
            _ = await peer.readToEnd()
        } client: { url in
            let attempt = Task { try await connect(url) }
            for await _ in requests { break }
            attempt.cancel()
            let error = await #expect(throws: WebSocketError.self) { try await attempt.value }
            #expect(error?.code == .cancelled)
        }
    }

    @Test func `no payload goes to another origin, even if the app replaces the configuration`() async throws {
        try await withScriptedServer { peer in
            _ = try await peer.readRequest()
            try await Self.answer(peer, "", "302 Found", "Location: ws://127.0.0.1:1/\r\n")
        } client: { url in
            let client = SocketIOClient(
                url,
                configure: { socket in
                    socket.connection = WebSocketConfiguration()
                    socket.connection.redirects = RedirectPolicy()
                })
            do throws(SocketIOFailure) {
                try await client.ready(within: .seconds(20))
                Issue.record("it connects")
            } catch {
                #expect((error.underlying as? WebSocketError)?.httpStatus == 302)
            }
            await client.close()
        }
    }
}
