import Holdfast
import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(2))) struct TelemetryPacedTests {
    private struct Cursor: Codable, Sendable { let id: Int, x: Double }

    private func cursors(_ peer: MemoryTransport, _ count: Int) async throws -> [String] {
        var cursors: [String] = []
        for text in try await peer.texts(count) {
            let cursor = try JSONCodec().decode(Cursor.self, from: .text(text))
            cursors.append("\(cursor.id):\(cursor.x)")
        }
        return cursors
    }

    @Test func `a throttled sender sends the first value at once and the last one after the interval`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        let sender = stage.socket.sender(of: Cursor.self, throttle: .milliseconds(50), by: \.id)
        for x in 1...9 { sender.send(Cursor(id: 1, x: Double(x))) }
        sender.send(Cursor(id: 2, x: 0.5))
        #expect(try await cursors(peer, 2) == ["1:1.0", "2:0.5"])
        await stage.pause(of: .milliseconds(50))
        #expect(try await cursors(peer, 1) == ["1:9.0"])
        #expect(await telemetryEventually { sender.counts.sent == 3 })
        #expect(sender.counts.recorded == 10 && sender.counts.sampled == 7 && sender.counts.isWhole)
    }

    @Test func `a debounced sender sends the last value after a quiet time`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        let typing = stage.socket.sender(of: [String].self, debounce: .milliseconds(300))
        typing.send(["h"])
        typing.send(["he"])
        await stage.pause(of: .milliseconds(300))
        #expect(try await peer.texts(1) == [#"["he"]"#])
    }

    @Test func `without a connection only the newest value of each key waits`() async throws {
        let stage = Stage()
        let sender = stage.socket.sender(of: Cursor.self, throttle: .zero, by: \.id)
        for x in 0..<100 { for id in 1...2 { sender.send(Cursor(id: id, x: Double(x))) } }
        #expect(sender.counts.waiting == 2 && sender.counts.sampled == 198)
        let peer = try await stage.connect()
        #expect(try await cursors(peer, 2) == ["1:99.0", "2:99.0"])
    }

    @Test func `the number of keys is limited while there is no connection`() async throws {
        let stage = Stage()
        let sender = stage.socket.sender(of: Cursor.self, throttle: .seconds(1), by: \.id) { $0.keyLimit = 2 }
        for id in 1...5 { sender.send(Cursor(id: id, x: 0)) }
        #expect(sender.counts.waiting == 2 && sender.counts.dropped == 3)
        let peer = try await stage.connect()
        #expect(try await cursors(peer, 2) == ["4:0.0", "5:0.0"])
    }

    @Test func `closing the socket sends the waiting values`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        let sender = stage.socket.sender(of: Cursor.self, debounce: .seconds(60), by: \.id)
        sender.send(Cursor(id: 1, x: 1))
        let closing = Task { await stage.socket.close() }
        #expect(try await cursors(peer, 1) == ["1:1.0"])
        #expect(try await peer.message() == nil)
        await closing.value
        sender.send(Cursor(id: 1, x: 2))
        #expect(sender.counts.sent == 1 && sender.counts.dropped == 1 && sender.counts.isWhole)
    }

    @Test func `the app's move to the background sends the waiting values`() async throws {
        let stage = Stage { $0.background = .keep }
        let peer = try await stage.connect()
        let sender = stage.socket.sender(of: Cursor.self, debounce: .seconds(60), by: \.id)
        sender.send(Cursor(id: 1, x: 1))
        await stage.socket.notify(.background)
        #expect(try await cursors(peer, 1) == ["1:1.0"])
    }

    @Test func `a value that cannot be encoded is reported and counted, and the next one is sent`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        let failures = TelemetryNotes<WebSocketError.Code>()
        let sender = stage.socket.sender(of: Cursor.self, throttle: .zero, by: \.id) { $0.onFailure = { failures.add($0.code) } }
        sender.send(Cursor(id: 1, x: .nan))
        #expect(await telemetryEventually { sender.counts.unencodable == 1 })
        sender.send(Cursor(id: 1, x: 2))
        #expect(try await cursors(peer, 1) == ["1:2.0"])
        #expect(failures.all == [.codec])
    }

    @Test func `a value in flight on a lost connection is counted, and the newest one is sent on the next`() async throws {
        let stage = Stage()
        let first = try await stage.connect()
        first.stall()
        let sender = stage.socket.sender(of: Cursor.self, throttle: .zero, by: \.id)
        sender.send(Cursor(id: 1, x: 1))
        #expect(await telemetryEventually { sender.counts.leaving == 1 })
        sender.send(Cursor(id: 1, x: 2))
        sender.send(Cursor(id: 1, x: 3))
        first.cut()
        await stage.pause()
        let second = try await stage.accept()
        #expect(try await cursors(second, 1) == ["1:3.0"])
        #expect(await telemetryEventually { sender.counts.sent == 1 })
        #expect(sender.counts.uncertain == 1 && sender.counts.sampled == 1 && sender.counts.isWhole)
    }
}
