import Foundation
import HoldfastTesting
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(2))) struct OutboxFileTests {
    /// A directory that goes with the test.
    private final class Place {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("outbox-\(UUID())")
        var file: URL { directory.appendingPathComponent("outbox") }
        var bytes: Data { get throws { try Data(contentsOf: file) } }

        init() throws { try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true) }

        deinit { try? FileManager.default.removeItem(at: directory) }

        func open() throws -> OutboxFile<String> { try OutboxFile(file.path) }
    }

    private func add(_ file: OutboxFile<String>, _ serial: UInt64, _ id: String, _ message: Message) async throws {
        try await file.add((serial, id, message))
    }

    @Test func `a later run of the app sends what an earlier one kept`() async throws {
        let place = try Place()
        do {
            let stage = Stage()
            let outbox = try await stage.socket.outbox(in: .file(place.file), acknowledgement: OutboxTests.answer)
            for number in 1...3 { try await outbox.send("message \(number)", id: number) }
            let peer = try await stage.accept()
            for _ in 1...3 { _ = try await peer.message() }
            try await peer.send(.text("ok 2"))
            #expect(await outbox.outcome(of: 2) == .acknowledged)
            await stage.socket.close()
        }
        let stage = Stage()
        let outbox = try await eventually { try await stage.socket.outbox(in: .file(place.file), acknowledgement: OutboxTests.answer) }
        #expect(outbox.waiting.map(\.message) == [.text("message 1"), .text("message 3")])
        try await outbox.send("message 4", id: 4)
        let peer = try await stage.accept()
        for number in [1, 3, 4] { #expect(try await peer.message() == .text("message \(number)")) }
    }

    /// The first outbox may still be about to let go of its file.
    private func eventually<Value>(_ open: () async throws -> Value) async throws -> Value {
        for _ in 0..<500 {
            do { return try await open() } catch OutboxError.inUse { try await Task.sleep(for: .milliseconds(10)) }
        }
        return try await open()
    }

    @Test func `it holds text and bytes as they are, and what is over is gone`() async throws {
        let place = try Place()
        do {
            let file = try place.open()
            #expect(try await file.load().isEmpty)
            try await add(file, 1, "a", .text("line\nbreak, \"quotes\", ü"))
            try await add(file, 2, "b", .binary([0, 10, 255]))
            try await add(file, 3, "c", .text(""))
            await file.remove(1)
        }
        let stored = try await place.open().load()
        #expect(stored.map(\.serial) == [2, 3] && stored.map(\.id) == ["b", "c"])
        #expect(stored.map(\.message) == [.binary([0, 10, 255]), .text("")])
    }

    @Test func `cut off at any byte, it holds every message that was whole, and takes the next`() async throws {
        let place = try Place()
        do {
            let file = try place.open()
            _ = try await file.load()
            for number in 1...3 { try await add(file, UInt64(number), "\(number)", .text("message \(number)")) }
        }
        let whole = try place.bytes
        for length in 0...whole.count {
            try whole.prefix(length).write(to: place.file)
            let lines = whole.prefix(length).count { $0 == 0x0A }
            do {
                let file = try place.open()
                #expect(try await file.load().count == lines)
                try await add(file, 9, "new", .text("new"))
            }
            let stored = try await place.open().load()
            #expect(stored.map(\.id) == (1...3).prefix(lines).map { "\($0)" } + ["new"])
        }
    }

    @Test(arguments: [
        "{\"n\":1,\"id\":\"a\",\"text\":\"x\"}\nnonsense\n", "\u{0}\u{0}\n", "{\"n\":-1}\n", "{\"id\":\"a\"}\n", "{\"n\":1,\"id\":\"a\"}\n",
    ])
    func `a damaged file is told by its line, and left as it is`(content: String) async throws {
        let place = try Place()
        try Data(content.utf8).write(to: place.file)
        let line = content.contains("nonsense") ? 2 : 1
        let file = try place.open()
        await #expect(throws: OutboxError.damaged(place.file.path, line: line)) { try await file.load() }
        #expect(try place.bytes == Data(content.utf8))
    }

    @Test(arguments: ["{\"settings\":true}", "nonsense", "{\"n\":1,\"id\":\"a\",\"text\":\"x\"}\nnonsense"])
    func `what is behind the last line and not ours is left as it is`(content: String) async throws {
        let place = try Place()
        try Data(content.utf8).write(to: place.file)
        let file = try place.open()
        let line = content.split(separator: "\n").count
        await #expect(throws: OutboxError.damaged(place.file.path, line: line)) { try await file.load() }
        #expect(try place.bytes == Data(content.utf8))
    }

    @Test func `what a power cut left without content is cut off`() async throws {
        let place = try Place()
        try (Data("{\"n\":1,\"id\":\"a\",\"text\":\"x\"}\n".utf8) + Data(count: 512)).write(to: place.file)
        #expect(try await place.open().load().map(\.id) == ["a"])
    }

    @Test func `of two with one id the later one counts, also for the next run`() async throws {
        let place = try Place()
        do {
            let file = try place.open()
            _ = try await file.load()
            // The end of the first one was not written.
            try await add(file, 1, "a", .text("over"))
            try await add(file, 2, "a", .text("promised"))
        }
        for _ in 0..<2 {
            let stored = try await place.open().load()
            #expect(stored.map(\.serial) == [2] && stored.map(\.message) == [.text("promised")])
        }
    }

    @Test func `one outbox has it at a time, and only its owner can read it`() async throws {
        let place = try Place()
        let file = try place.open()
        #expect(throws: OutboxError.inUse(place.file.path)) { try place.open() }
        _ = try await file.load()
        for path in [place.file.path, place.file.path + ".lock"] {
            let rights = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(rights == 0o600)
        }
    }

    @Test func `a file that cannot be made is told with the system's words`() throws {
        let place = try Place()
        let path = place.directory.appendingPathComponent("no/such").path
        #expect(throws: OutboxError.storage("\(path).lock: No such file or directory")) { try OutboxFile<String>(path) }
    }

    @Test func `it stays small whatever passes through it`() async throws {
        let place = try Place()
        let text = String(repeating: "x", count: 1000)
        do {
            let file = try place.open()
            _ = try await file.load()
            for serial in 1...1000 as ClosedRange<UInt64> {
                try await add(file, serial, "\(serial)", .text(text))
                if serial > 3 { await file.remove(serial - 3) }
            }
            #expect(try place.bytes.count < 128 << 10, "a megabyte has passed")
        }
        #expect(try await place.open().load().map(\.serial) == [998, 999, 1000])
    }
}
