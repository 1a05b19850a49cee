import Foundation
import Holdfast
import HoldfastServer
import RoomCore
import ScriptedPeers
import Testing
import WebSocketCore

@testable import HoldfastHub
import WebSocketRuntime

extension HubTests {
    /// The hub's plain HTTP API.
    @Suite struct HubHTTPTests {
        private static let key = "an API key of a test"
        private let directory: HubDirectory

        init() throws { directory = try HubDirectory() }

        private func hub(_ change: (inout HubConfiguration) -> Void = { _ in }) -> Hub {
            Hub.stage(directory) { configuration in
                (configuration.apiKeys, configuration.backups) = (["another key of a test", Self.key], directory.path)
                change(&configuration)
            }
        }

        /// Sends a request on a new connection.
        private func ask(
            _ hub: RunningHub, _ line: String, _ fields: [String: String] = [:], key: String? = nil, body: String = ""
        ) async throws -> (head: ResponseHead, body: String) {
            let peer = try await ScriptedPeer.connect(to: hub.server.port)
            try await peer.send(Self.request(line, fields.merging(["Connection": "close"]) { $1 }, key: key, body: body))
            let head = try await peer.readResponse()
            return (head, String(decoding: await peer.readToEnd(), as: UTF8.self))
        }

        private static func request(_ line: String, _ fields: [String: String], key: String?, body: String) -> String {
            var fields = fields
            fields["Host"] = fields["Host"] ?? "127.0.0.1"
            fields["Content-Length"] = fields["Content-Length"] ?? "\(body.utf8.count)"
            if let key { fields["Authorization"] = "Bearer \(key)" }
            return line + " HTTP/1.1\r\n" + fields.map { "\($0): \($1)\r\n" }.joined() + "\r\n" + body
        }

        private static let message = "{\"type\":\"chat.text\",\"user\":\"robot\",\"body\":{\"text\": \"hi\" }}"
        private static let id = "01890000-0000-7000-8000-000000000001"

        @Test func `a program publishes over HTTP, and a repeat with the same key is stored once`() async throws {
            try await hub().withRunning { hub in
                let ann = try await HubGuest(hub.url)
                try await ann.hello()
                try await ann.join()
                let post = "POST /api/rooms/abc/messages"
                let first = try await ask(hub, post, ["Idempotency-Key": Self.id], key: Self.key, body: Self.message)
                #expect(first.head.status == 201 && first.body.contains("\"seq\":1,") && first.body.contains("\"dup\":false"))
                let again = try await ask(hub, post, ["Idempotency-Key": Self.id], key: Self.key, body: Self.message)
                #expect(again.head.status == 200 && again.body.contains("\"seq\":1,") && again.body.contains("\"dup\":true"))
                let entries = try await ann.entries()
                #expect(entries.map(\.user.text) == ["robot"])
                // The body is passed on byte for byte.
                #expect(entries.first?.payload == .json(Array("{\"text\": \"hi\" }".utf8)))
                let history = try await ask(hub, "GET /api/rooms/abc/messages", key: Self.key)
                #expect(history.head.status == 200)
                let page = try Array(history.body.utf8).withUnsafeBytes { try HubFrame.decode(json: $0) }
                guard case .page(let page)? = page else { throw ScriptedPeer.Ended() }
                #expect(page.items == entries && page.epoch != 0)
            }
        }

        @Test func `another program that guesses the idempotency key neither replaces nor blocks a publication`() async throws {
            let post = "POST /api/rooms/abc/messages"
            try await hub().withRunning { hub in
                let name = try #require(MessageID(Self.id))
                let eve = try await HubGuest(hub.url, device: DeviceID(name.bits))
                try await eve.hello(token: "dev:eve")
                try await eve.join()
                try await eve.publish(1, id: name)
                _ = try await eve.ack()
                func publish(_ key: String, _ body: String) async throws -> Int {
                    try await ask(hub, post, ["Idempotency-Key": Self.id], key: key, body: body).head.status
                }
                #expect(try await publish(Self.key, Self.message) == 201)
                #expect(try await publish(Self.key, Self.message) == 200)
                // The same key of another program or another user is a different key.
                #expect(try await publish("another key of a test", Self.message) == 201)
                let other = Self.message.replacing("robot", with: "other")
                #expect(try await publish(Self.key, other) == 201)
                #expect(try await publish(Self.key, other) == 200)
            }
            // The restarted hub still knows the keys.
            try await hub().withRunning { hub in
                let again = try await ask(hub, post, ["Idempotency-Key": Self.id], key: Self.key, body: Self.message)
                #expect(again.head.status == 200 && again.body.contains("\"seq\":2,"))
            }
        }

        @Test func `a user with invisible characters is refused`() async throws {
            try await hub().withRunning { hub in
                let body = Self.message.replacing("robot", with: "ro\u{202E}bot")
                let answer = try await ask(hub, "POST /api/rooms/abc/messages", key: Self.key, body: body)
                #expect(answer.head.status == 400 && answer.body.contains("U+202E"))
            }
        }

        @Test func `history goes backwards in pages`() async throws {
            try await hub().withRunning { hub in
                for number in 1...5 {
                    let user = try #require(UserName("server"))
                    let content = Publication.Content(type: "n", payload: .json(Array("\(number)".utf8)))
                    try await hub.publish(to: .abc, from: user, content, id: .number(Int64(number)))
                }
                func seqs(_ query: String) async throws -> [Int64] {
                    let body = try await ask(hub, "GET /api/rooms/abc/messages?\(query)", key: Self.key).body
                    guard case .page(let page)? = try Array(body.utf8).withUnsafeBytes({ try HubFrame.decode(json: $0) }) else { return [] }
                    return page.items.map(\.seq)
                }
                #expect(try await seqs("limit=2") == [4, 5])
                #expect(try await seqs("before=4&limit=2") == [2, 3])
                #expect(try await seqs("before=2") == [1])
                for query in ["limit=0", "limit=x", "before=0", "limit=100000"] {
                    #expect(try await ask(hub, "GET /api/rooms/abc/messages?\(query)", key: Self.key).head.status == 400, "\(query)")
                }
                #expect(try await ask(hub, "GET /api/rooms/nobody/messages", key: Self.key).head.status == 404)
            }
        }

        @Test func `publications without a key use one device for each user`() async throws {
            try await hub().withRunning { hub in
                for user in ["a", "b", "a", "a"] {
                    let body = "{\"type\":\"n\",\"user\":\"\(user)\",\"body\":1}"
                    let answer = try await ask(hub, "POST /api/rooms/abc/messages", key: Self.key, body: body)
                    #expect(answer.head.status == 201 && answer.body.contains("\"dup\":false"))
                }
                let items = try await page(hub, "abc").items
                #expect(items.map(\.seq) == [1, 2, 3, 4] && items.map(\.cseq) == [1, 1, 2, 3])
                #expect(Set(items.map(\.device)).count == 2 && Set(items.map(\.id)).count == 4)
            }
        }

        private func page(_ hub: RunningHub, _ room: String) async throws -> HubFrame.Page {
            let body = try await ask(hub, "GET /api/rooms/\(room)/messages", key: Self.key).body
            guard case .page(let page)? = try Array(body.utf8).withUnsafeBytes({ try HubFrame.decode(json: $0) }) else {
                throw ScriptedPeer.Ended()
            }
            return page
        }

        @Test func `an export has one line for each entry`() async throws {
            try await hub().withRunning { hub in
                for number in 1...600 {
                    let content = Publication.Content(type: "n", payload: .json(Array("{\n\"n\": \(number)}".utf8)))
                    _ = try await hub.core.publish(to: .abc, from: try #require(UserName("robot")), content, id: .number(1), isNamed: false)
                }
                let answer = try await ask(hub, "GET /api/rooms/abc/export", key: Self.key)
                #expect(answer.head.status == 200 && answer.head.headers["Content-Type"] == "application/x-ndjson")
                let frames = try Self.content(answer.body).split(whereSeparator: \.isNewline).map { line in
                    try Array(line.utf8).withUnsafeBytes { try HubFrame.decode(json: $0) }
                }
                guard case .state(let state)? = frames.first else { throw ScriptedPeer.Ended() }
                #expect(state.head == 600 && state.base == 1 && state.items.isEmpty)
                let entries = frames.dropFirst().flatMap {
                    if case .entries(_, state.epoch, let items, _)? = $0 { items } else { [Entry]() }
                }
                #expect(entries.map(\.seq) == Array(1...600))
                #expect(entries.last?.payload == .json(Array("{ \"n\": 600}".utf8)))
                #expect(try await ask(hub, "GET /api/rooms/nobody/export", key: Self.key).head.status == 404)
                #expect(try await ask(hub, "GET /api/rooms/abc/export").head.status == 401)
            }
        }

        /// The decoded content of a chunked body.
        private static func content(_ chunks: String) throws -> String {
            var reader = try BodyReader(of: RequestHead(target: "/", headers: ["Transfer-Encoding": "chunked"]))
            var (bytes, content) = (Array(chunks.utf8)[...], [UInt8]())
            while true {
                switch try bytes.withUnsafeBytes({ try reader.next($0) }) {
                case .content(let count):
                    content += bytes.prefix(count)
                    bytes.removeFirst(count)
                case .framing(let count): bytes.removeFirst(count)
                case .more, .end: return String(decoding: content, as: UTF8.self)
                }
            }
        }

        @Test func `an unreadable log and an unknown room give different statuses`() async throws {
            try await hub().withRunning { hub in
                let content = Publication.Content(type: "n", payload: .json([0x31]))
                try await hub.publish(to: .abc, from: try #require(UserName("a")), content, id: .number(1))
                try LogBench.edit(directory.path + "/log/rooms.sqlite", "UPDATE entries SET body = x'00'")
                for path in ["messages", "export"] {
                    #expect(try await ask(hub, "GET /api/rooms/nobody/\(path)", key: Self.key).head.status == 404)
                }
                let answer = try await ask(hub, "GET /api/rooms/abc/messages", key: Self.key)
                #expect(answer.head.status == 503 && answer.head.headers["Retry-After"] == "1")
            }
        }

        @Test func `the status page has the busiest rooms`() async throws {
            try await hub().withRunning { hub in
                let ann = try await HubGuest(hub.url)
                try await ann.hello()
                try await ann.join()
                let content = Publication.Content(type: "n", payload: .json([0x31]))
                try await hub.publish(to: try #require(RoomName("quick")), from: try #require(UserName("a")), content, id: .number(1))
                let body = try await ask(hub, "GET /status.json").body
                let report = try JSONDecoder().decode(Status.self, from: Data(body.utf8))
                #expect(report.busiest.members.map(\.room) == ["abc"] && report.busiest.members.map(\.members) == [1])
                #expect(report.busiest.pace.map(\.room) == ["quick"] && report.busiest.pace.allSatisfy { $0.pace > 0 })
            }
        }

        private struct Status: Decodable {
            struct Busiest: Decodable { let members, pace: [Room] }
            struct Room: Decodable {
                let room: String
                let members: Int
                let pace: Double
            }
            let busiest: Busiest
        }

        @Test(
            arguments: [
                "", "{}", "[]", "{\"type\":\"a\"}", "{\"body\":1}", "{\"type\":\"a\",\"body\":}", "{\"type\":\"a\",\"body\":1}}",
                "{\"type\":1,\"body\":1}",
            ])
        func `an invalid publication is refused`(body: String) async throws {
            try await hub().withRunning { hub async throws -> Void in
                #expect(try await ask(hub, "POST /api/rooms/abc/messages", key: Self.key, body: body).head.status == 400)
            }
        }

        @Test func `a publication must not contain its room or number`() async throws {
            try await hub().withRunning { hub in
                let body = "{\"type\":\"a\",\"body\":1,\"room\":\"other\",\"cseq\":7,\"void\":true,\"t\":\"ping\"}"
                let answer = try await ask(hub, "POST /api/rooms/a%20b/messages", key: Self.key, body: body)
                #expect(answer.head.status == 201 && answer.body.contains("\"room\":\"a b\""))
            }
        }

        @Test func `each refusal of the hub has its HTTP status`() async throws {
            try await hub { $0.limits.body = 10 }.withRunning { hub in
                let post = "POST /api/rooms/abc/messages"
                let long = try await ask(hub, post, key: Self.key, body: "{\"type\":\"a\",\"body\":\"12345678901\"}")
                #expect(long.head.status == 413 && long.body.contains("4002"))
                let key = try await ask(hub, post, ["Idempotency-Key": "x"], key: Self.key, body: Self.message)
                #expect(key.head.status == 400)
                let room = String(repeating: "x", count: 129)
                let name = try await ask(hub, "POST /api/rooms/\(room)/messages", key: Self.key, body: Self.message)
                #expect(name.head.status == 400)
                let huge = try await ask(hub, post, key: Self.key, body: String(repeating: " ", count: 300 * 1024))
                #expect(huge.head.status == 413)
            }
        }

        @Test func `a publication that is too new for the hub's clock gets a retry time`() async throws {
            try await hub().withRunning { hub in
                let body = "{\"type\":\"a\",\"body\":1,\"at\":\(WallClock.milliseconds + 7_200_000)}"
                let answer = try await ask(hub, "POST /api/rooms/abc/messages", key: Self.key, body: body)
                #expect(answer.head.status == 503 && answer.body.contains("4005"))
                let wait = try #require(answer.head.headers["Retry-After"].flatMap { Int($0) })
                #expect((3000...3600).contains(wait))
            }
        }

        @Test(arguments: [nil, "", "an API key of a tesT", "an API key of a tes", "an API key of a testt"])
        func `the API requires a valid key`(key: String?) async throws {
            try await hub().withRunning { hub in
                for line in [
                    "POST /api/rooms/abc/messages", "GET /api/rooms/abc/messages", "GET /api/rooms/abc/export", "POST /api/backup",
                ] {
                    let answer = try await ask(hub, line, key: key, body: line.hasPrefix("POST") ? Self.message : "")
                    #expect(answer.head.status == 401 && answer.head.headers["WWW-Authenticate"] == "Bearer")
                }
            }
        }

        @Test func `metrics and status are available to this machine and with a key`() async throws {
            try await hub().withRunning { hub in
                for path in ["/metrics", "/status.json"] {
                    #expect(try await ask(hub, "GET \(path)").head.status == 200)
                    for away in [["X-Forwarded-For": "10.0.0.1"], ["Host": "evil.example"]] {
                        #expect(try await ask(hub, "GET \(path)", away).head.status == 401)
                        #expect(try await ask(hub, "GET \(path)", away, key: Self.key).head.status == 200)
                    }
                }
                let metrics = try await ask(hub, "GET /metrics")
                #expect(metrics.body.contains("# TYPE holdfast_hub_connections gauge\n"))
                #expect(metrics.body.contains("holdfast_server_"))
            }
        }

        @Test func `a page of another origin needs a key, even in a browser on this machine`() async throws {
            try await hub().withRunning { hub async throws -> Void in
                let own = "http://127.0.0.1:\(hub.server.port)"
                let foreign = [
                    ["Origin": "http://evil.example"], ["Origin": "null"], ["Origin": "http://127.0.0.1:1"],
                    ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"], ["Origin": own, "Sec-Fetch-Site": "cross-site"],
                ]
                for var fields in foreign {
                    fields["Host"] = "127.0.0.1:\(hub.server.port)"
                    for path in ["/metrics", "/status.json", "/status/stream"] {
                        #expect(try await ask(hub, "GET \(path)", fields).head.status == 403)
                    }
                    #expect(try await ask(hub, "GET /metrics", fields, key: Self.key).head.status == 200)
                    #expect(try await ask(hub, "GET /status", fields).head.status == 200)
                }
                for var fields in [["Origin": own], ["Sec-Fetch-Site": "same-origin"], ["Sec-Fetch-Site": "none"]] {
                    fields["Host"] = "127.0.0.1:\(hub.server.port)"
                    #expect(try await ask(hub, "GET /status.json", fields).head.status == 200)
                }
            }
        }

        @Test func `a request target with another host than the Host header is refused`() async throws {
            try await hub().withRunning { hub async throws -> Void in
                #expect(try await ask(hub, "GET http://evil.example/status.json").head.status == 400)
                #expect(try await ask(hub, "GET http://127.0.0.1/status.json").head.status == 200)
            }
        }

        @Test func `the status stream sends an event each second`() async throws {
            try await hub().withRunning { hub in
                let peer = try await ScriptedPeer.connect(to: hub.server.port)
                try await peer.send(Self.request("GET /status/stream", [:], key: nil, body: ""))
                #expect(try await peer.readResponse().headers["Content-Type"] == "text/event-stream")
                for _ in 1...2 { #expect(try await peer.read(through: "\n\n").contains("\"closedRooms\":0,")) }
            }
        }

        @Test func `a hub is alive, and ready while it can store`() async throws {
            try await hub().withRunning { hub async throws -> Void in
                #expect(try await ask(hub, "GET /healthz").head.status == 200)
                #expect(try await ask(hub, "GET /readyz").head.status == 200)
                await hub.core.stop()
                #expect(try await ask(hub, "GET /healthz").head.status == 200)
                #expect(try await ask(hub, "GET /readyz").head.status == 503)
            }
        }

        @Test func `a backup over HTTP is a valid log`() async throws {
            let copy = try await hub().withRunning { hub in
                let content = Publication.Content(type: "n", payload: .json([0x31]))
                try await hub.publish(to: .abc, from: try #require(UserName("a")), content, id: .number(1))
                let answer = try await ask(hub, "POST /api/backup", key: Self.key)
                #expect(answer.head.status == 201)
                return try JSONDecoder().decode([String: String].self, from: Data(answer.body.utf8))["path"] ?? ""
            }
            let other = try HubDirectory()
            try FileManager.default.createDirectory(atPath: other.path + "/log", withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: copy, toPath: other.path + "/log/rooms.sqlite")
            try await Hub.stage(other).withRunning { hub in
                let ann = try await HubGuest(hub.url)
                try await ann.hello()
                #expect(try await ann.join().head == 1)
            }
        }

        @Test func `an error names the backup directory if it is missing or a file`() async throws {
            let (missing, file) = (directory.path + "/nowhere", directory.path + "/file")
            #expect(FileManager.default.createFile(atPath: file, contents: nil))
            for place in [missing, file] {
                try await hub { $0.backups = place }.withRunning { hub in
                    let answer = try await ask(hub, "POST /api/backup", key: Self.key)
                    #expect(answer.head.status == 409)
                    #expect(answer.body.contains("the directory for backups does not exist: \(place)"))
                }
            }
            #expect(!FileManager.default.fileExists(atPath: missing))
        }

        @Test func `a connection serves requests one after the other, also with late bodies`() async throws {
            try await hub().withRunning { hub in
                let peer = try await ScriptedPeer.connect(to: hub.server.port)
                let bytes = Array(Self.request("POST /api/rooms/abc/messages", [:], key: Self.key, body: Self.message).utf8)
                for _ in 1...3 {
                    try await peer.send(Array(bytes.prefix(bytes.count - 5)))
                    try await peer.send(Array(bytes.suffix(5)))
                    let head = try await peer.readResponse()
                    #expect(head.status == 201)
                    _ = try await peer.read(Int(head.headers["Content-Length"] ?? "") ?? 0)
                }
            }
        }

        @Test func `a room's name is UTF-8, whatever the escapes are`() async throws {
            try await hub().withRunning { hub async throws -> Void in
                for name in ["a%zz", "a%ff", "%00"] {
                    #expect(try await ask(hub, "GET /api/rooms/\(name)/messages", key: Self.key).head.status == 400, "\(name)")
                }
            }
        }

        @Test func `an address has a limit of plain HTTP connections, except for probes`() async throws {
            try await hub { $0.http.perAddress = 2 }.withRunning { hub in
                var peers: [ScriptedPeer] = []
                for _ in 1...2 {
                    let peer = try await ScriptedPeer.connect(to: hub.server.port)
                    try await peer.send(Self.request("GET /", [:], key: nil, body: ""))
                    #expect(try await peer.readResponse().status == 200)
                    peers.append(peer)
                }
                let third = try await ask(hub, "GET /")
                #expect(third.head.status == 503 && third.head.headers["Retry-After"] == "5" && third.head.headers["Connection"] == "close")
                for path in ["/healthz", "/readyz", "/metrics"] { #expect(try await ask(hub, "GET \(path)").head.status == 200) }
                #expect(try await ask(hub, "GET /metrics", ["Host": "evil.example"]).head.status == 401)
                await peers[0].close()
                while try await ask(hub, "GET /").head.status != 200 { await Task.yield() }
            }
        }

        @Test func `a WebSocket gives back the permit of its connection for plain requests`() async throws {
            try await hub { $0.http.perAddress = 1 }.withRunning { hub in
                let peer = try await ScriptedPeer.connect(to: hub.server.port)
                try await peer.send(Self.request("GET /healthz", [:], key: nil, body: ""))
                let head = try await peer.readResponse()
                _ = try await peer.read(Int(head.headers["Content-Length"] ?? "") ?? 0)
                #expect(try await peer.upgrade("/rooms").status == 101)
                while try await ask(hub, "GET /").head.status != 200 { await Task.yield() }
            }
        }

        @Test func `a body that does not arrive is refused at its deadline`() async throws {
            try await hub { $0.http.request = .milliseconds(50) }.withRunning { hub in
                let peer = try await ScriptedPeer.connect(to: hub.server.port)
                try await peer.send(Self.request("POST /api/rooms/abc/messages", ["Content-Length": "100"], key: Self.key, body: ""))
                let head = try await peer.readResponse()
                #expect(head.status == 408 && head.headers["Connection"] == "close")
                _ = await peer.readToEnd()
            }
        }

        @Test func `after an answer without reading the body the connection closes`() async throws {
            try await hub().withRunning { hub in
                let peer = try await ScriptedPeer.connect(to: hub.server.port)
                try await peer.send(Self.request("POST /api/rooms/abc/messages", ["Content-Length": "1000000000"], key: nil, body: ""))
                let head = try await peer.readResponse()
                #expect(head.status == 401 && head.headers["Connection"] == "close")
                // The client keeps sending, and the hub reads only a part of the body.
                var sent = 0
                while sent < 1 << 30, (try? await peer.send([UInt8](repeating: 0, count: 1 << 20))) != nil { sent += 1 << 20 }
                #expect(sent < 64 << 20)
            }
        }

        @Test func `behind a proxy no client counts as local, and its connections do not share one address`() async throws {
            let hub = hub { configuration in
                (configuration.isBehindProxy, configuration.takesDevelopmentTokens) = (true, false)
                configuration.http.perAddress = 1
            }
            try await hub.withRunning { hub in
                let first = try await ScriptedPeer.connect(to: hub.server.port)
                try await first.send(Self.request("GET /healthz", [:], key: nil, body: ""))
                #expect(try await first.readResponse().status == 200)
                #expect(try await ask(hub, "GET /metrics").head.status == 401)
                #expect(try await ask(hub, "GET /metrics", key: Self.key).head.status == 200)
            }
        }

        @Test func `status streams do not delay a hub that stops`() async throws {
            let peer = try await hub { $0.server.shutdownGrace = .seconds(60) }.withRunning { hub in
                let peer = try await ScriptedPeer.connect(to: hub.server.port)
                try await peer.send(Self.request("GET /status/stream", [:], key: nil, body: ""))
                _ = try await peer.read(through: "\n\n")
                return peer
            }
            #expect(await !peer.readToEnd().isEmpty)
        }

        @Test func `WebSockets are refused at other paths`() async throws {
            try await hub().withRunning { hub async throws -> Void in
                for path in ["/rooms", "/"] { #expect(try await ScriptedPeer.connect(to: hub.server.port).upgrade(path).status == 101) }
                #expect(try await ScriptedPeer.connect(to: hub.server.port).upgrade("/elsewhere").status == 404)
            }
        }
    }
}
