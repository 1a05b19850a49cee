import Foundation
import Holdfast
import HoldfastHub
import HoldfastRooms
import HoldfastServer
import HoldfastTesting
import WebSocketRuntime
import RoomCore
import Testing

/// Rooms clients and a real hub, over sockets.
@Suite(.timeLimit(.minutes(3))) struct RoomsHubTests {
    /// Runs the body with a temporary directory.
    private func withDirectory<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("holdfast-rooms-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        return try await body(directory.path)
    }

    private func hub(_ data: String, port: Int = 0) -> Hub {
        var configuration = HubConfiguration(data: data)
        configuration.takesDevelopmentTokens = true
        configuration.server.port = port
        return Hub(configuration)
    }

    private func client(_ name: String, port: Int, store: some RoomStore = MemoryRoomStore()) -> Rooms {
        Rooms("ws://127.0.0.1:\(port)/rooms", store: store) {
            "dev:\(name)"
        } configure: { options in
            options.reconnect.backoff = Backoff(base: .milliseconds(50), cap: .milliseconds(500), jitter: .equal)
            options.reconnect.spacing = .milliseconds(20)
        }
    }

    /// Reads `count` texts.
    private func texts(_ count: Int, in room: Room) async throws -> [String] {
        var texts: [String] = []
        for try await update in room.messages {
            if let entry = update.entry { texts.append(entry.content(ChatText.self)?.text ?? "?") }
            if texts.count == count { break }
        }
        return texts
    }

    @Test func `a client that closes is no member at once, and a disconnected one only after a while`() async throws {
        try await withDirectory { directory in
            try await hub(directory).withRunning { running in
                let link = try await FaultyLink.start(to: running.server.port)
                let (ann, bob, eve) = (
                    client("ann", port: running.server.port), client("bob", port: running.server.port), client("eve", port: link.port)
                )
                _ = try await ann.join("abc")
                let room = try await bob.join("abc")
                _ = try await eve.join("abc")
                func names(_ status: RoomStatus) -> [String] { status.members.map(\.user.text) }
                for await status in room.statuses where names(status) == ["ann", "bob", "eve"] { break }
                link.refuse()
                link.cut()
                let closed = ContinuousClock.now
                await ann.close()
                for await status in room.statuses where names(status) == ["bob", "eve"] { break }
                // Presence changes are collected for a second. A disconnected client is shown for ten.
                #expect(closed.duration(to: .now) < .seconds(8))
                #expect(names(room.status) == ["bob", "eve"], "a disconnected client is still shown")
                for await status in room.statuses where names(status) == ["bob"] { break }
                await bob.close()
                await eve.close()
                try await link.stop()
            }
        }
    }

    @Test func `with a link that is cut again and again all messages arrive, once and in one order`() async throws {
        try await withDirectory { directory in
            try await hub(directory).withRunning { running in
                let link = try await FaultyLink.start(to: running.server.port)
                let rooms = [client("ann", port: link.port), client("bob", port: link.port)]
                var joined: [Room] = []
                for client in rooms { joined.append(try await client.join("abc", from: .beginning)) }
                let count = 120
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for (place, room) in joined.enumerated() {
                        group.addTask {
                            for number in 0..<count / 2 { try await room.send(ChatText("\(place) \(number)")) }
                            for waiting in room.outbox { try await room.receipt(for: waiting.id)?.stored() }
                        }
                    }
                    group.addTask {
                        for _ in 0..<5 {
                            try await Task.sleep(for: .milliseconds(60))
                            link.cut(.rst)
                        }
                    }
                    try await group.waitForAll()
                }
                let seen = [try await texts(count, in: joined[0]), try await texts(count, in: joined[1])]
                #expect(seen[0] == seen[1])
                for place in 0...1 {
                    #expect(seen[0].filter { $0.hasPrefix("\(place) ") } == (0..<count / 2).map { "\(place) \($0)" })
                }
                for client in rooms { await client.close() }
                try await link.stop()
            }
        }
    }

    @Test func `a redirect to another origin is an error, and the token is not sent there`() async throws {
        let visits = LockedValue(0)
        func server(_ location: String?) -> WebSocketServer {
            var configuration = WebSocketServerConfiguration()
            configuration.port = 0
            return WebSocketServer(configuration: configuration) { _ in
                if let location { return .refuse(HTTPResponse(status: 307, headers: ["Location": location])) }
                visits.withLockedValue { $0 += 1 }
                return .accept
            } handler: { _, _ in
            }
        }
        try await server(nil).withRunning { other in
            try await server(other.url("/rooms")).withRunning { hub in
                let rooms = Rooms(hub.url("/rooms"), store: MemoryRoomStore(), token: { "s3cr3t" }) { options in
                    options.connection = WebSocketConfiguration()
                    options.connection.redirects = RedirectPolicy(reach: .anyHost)
                }
                var ending: RoomsError?
                for await state in rooms.states { if case .closed(let error) = state { ending = error } }
                #expect(ending?.description.contains("\(other.url("/rooms")) is another origin") == true)
                #expect(visits.withLockedValue(\.self) == 0)
            }
        }
    }

    @Test func `after a hub restart on the same log clients continue, and pending messages are sent`() async throws {
        try await withDirectory { directory in
            let port = try await hub(directory).withRunning { $0.server.port }
            let ann = client("ann", port: port)
            let room = try await ann.join("abc", from: .beginning)
            let first = try await hub(directory, port: port).withRunning { _ in try await room.send(ChatText("one")).stored() }
            let waiting = try await room.send(ChatText("two"))
            #expect(waiting.stage.position == nil)
            let second = try await hub(directory, port: port).withRunning { _ in
                let place = try await waiting.stored()
                let bob = client("bob", port: port)
                let seen = try await texts(2, in: try await bob.join("abc", from: .beginning))
                #expect(seen == ["one", "two"])
                await bob.close()
                return place
            }
            #expect(first.seq == 1 && second == LogPosition(epoch: first.epoch, seq: 2))
            await ann.close()
        }
    }

    @Test func `a late client gets a long history in pages, and sees the members`() async throws {
        try await withDirectory { directory in
            try await hub(directory).withRunning { running in
                let ann = client("ann", port: running.server.port)
                let room = try await ann.join("abc", from: .now)
                var last: Receipt?
                for number in 0..<700 { last = try await room.send(ChatText("\(number)")) }
                try await last?.stored()
                let bob = client("bob", port: running.server.port)
                let late = try await bob.join("abc", from: .beginning)
                #expect(try await texts(700, in: late) == (0..<700).map { "\($0)" })
                var statuses = late.statuses.makeAsyncIterator()
                while let status = await statuses.next(), status.members.map(\.user.text) != ["ann", "bob"] {}
                late.setTyping()
                var seen = room.statuses.makeAsyncIterator()
                while let status = await seen.next(), status.typing.map(\.text) != ["bob"] {}
                late.readUpTo(700)
                while let status = await seen.next(), !status.reads.values.contains(700) {}
                #expect(last?.stage == .seen(LogPosition(epoch: room.status.cursor.epoch, seq: 700), by: [try #require(UserName("bob"))]))
                await bob.close()
                await ann.close()
            }
        }
    }

    @Test func `a device belongs to its user: another user is refused with a reason`() async throws {
        try await withDirectory { directory in
            try await hub(directory).withRunning { running in
                let store = MemoryRoomStore()
                let ann = client("ann", port: running.server.port, store: store)
                try await ann.join("abc").send(ChatText("hi")).stored()
                await ann.close()
                let bob = client("bob", port: running.server.port, store: store)
                let room = try await bob.join("abc")
                await #expect(throws: RoomsError.self) {
                    try await room.send(ChatText("hi"))
                    try await room.whenLive()
                }
            }
        }
    }
}
