import Foundation
import HoldfastTesting
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(2))) struct OutboxFileTests {
    /// A temporary directory that is removed after the test.
    private final class TemporaryDirectory {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("outbox-\(UUID())")
        var file: URL { url.appendingPathComponent("outbox") }
        var bytes: Data { get throws { try Data(contentsOf: file) } }

        init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

        deinit { try? FileManager.default.removeItem(at: url) }

        func open() throws -> OutboxFile<String> { try OutboxFile(file.path) }
    }

    private func add(_ file: OutboxFile<String>, _ serial: UInt64, _ id: String, _ message: Message) async throws {
        try await file.add((serial, id, message))
    }

    @Test func `a later run of the app sends the messages that an earlier one stored`() async throws {
        let directory = try TemporaryDirectory()
        do {
            let stage = Stage()
            let outbox = try await stage.socket.outbox(in: .file(directory.file), acknowledgement: OutboxTests.answer)
            for number in 1...3 { try await outbox.send("message \(number)", id: number) }
            let peer = try await stage.accept()
            for _ in 1...3 { _ = try await peer.message() }
            try await peer.send(.text("ok 2"))
            #expect(await outbox.outcome(of: 2) == .acknowledged)
            await stage.socket.close()
        }
        let stage = Stage()
        let outbox = try await eventually { try await stage.socket.outbox(in: .file(directory.file), acknowledgement: OutboxTests.answer) }
        #expect(outbox.waiting.map(\.message) == [.text("message 1"), .text("message 3")])
        try await outbox.send("message 4", id: 4)
        let peer = try await stage.accept()
        for number in [1, 3, 4] { #expect(try await peer.message() == .text("message \(number)")) }
    }

    /// Opens the file again; the first outbox may not have released it yet.
    private func eventually<Value>(_ open: () async throws -> Value) async throws -> Value {
        for _ in 0..<500 {
            do { return try await open() } catch OutboxError.inUse { try await Task.sleep(for: .milliseconds(10)) }
        }
        return try await open()
    }

    @Test func `the file keeps text and bytes unchanged, and completed messages are gone`() async throws {
        let directory = try TemporaryDirectory()
        do {
            let file = try directory.open()
            #expect(try await file.load().isEmpty)
            try await add(file, 1, "a", .text("line\nbreak, \"quotes\", ü"))
            try await add(file, 2, "b", .binary([0, 10, 255]))
            try await add(file, 3, "c", .text(""))
            await file.remove(1)
        }
        let stored = try await directory.open().load()
        #expect(stored.map(\.serial) == [2, 3] && stored.map(\.id) == ["b", "c"])
        #expect(stored.map(\.message) == [.binary([0, 10, 255]), .text("")])
    }

    @Test func `a file cut off at any byte has every whole message and accepts new ones`() async throws {
        let directory = try TemporaryDirectory()
        do {
            let file = try directory.open()
            _ = try await file.load()
            for number in 1...3 { try await add(file, UInt64(number), "\(number)", .text("message \(number)")) }
        }
        let whole = try directory.bytes
        for length in 0...whole.count {
            try whole.prefix(length).write(to: directory.file)
            let lines = whole.prefix(length).count { $0 == 0x0A }
            do {
                let file = try directory.open()
                #expect(try await file.load().count == lines)
                try await add(file, 9, "new", .text("new"))
            }
            let stored = try await directory.open().load()
            #expect(stored.map(\.id) == (1...3).prefix(lines).map { "\($0)" } + ["new"])
        }
    }

    @Test(arguments: [
        "{\"n\":1,\"id\":\"a\",\"text\":\"x\"}\nnonsense\n", "\u{0}\u{0}\n", "{\"n\":-1}\n", "{\"id\":\"a\"}\n", "{\"n\":1,\"id\":\"a\"}\n",
    ])
    func `a damaged file is an error with its line, and stays unchanged`(content: String) async throws {
        let directory = try TemporaryDirectory()
        try Data(content.utf8).write(to: directory.file)
        let line = content.contains("nonsense") ? 2 : 1
        let file = try directory.open()
        await #expect(throws: OutboxError.damaged(directory.file.path, line: line)) { try await file.load() }
        #expect(try directory.bytes == Data(content.utf8))
    }

    @Test(arguments: ["{\"settings\":true}", "nonsense", "{\"n\":1,\"id\":\"a\",\"text\":\"x\"}\nnonsense"])
    func `an incomplete last line that is not ours is an error, and the file stays unchanged`(content: String) async throws {
        let directory = try TemporaryDirectory()
        try Data(content.utf8).write(to: directory.file)
        let file = try directory.open()
        let line = content.split(separator: "\n").count
        await #expect(throws: OutboxError.damaged(directory.file.path, line: line)) { try await file.load() }
        #expect(try directory.bytes == Data(content.utf8))
    }

    @Test func `zero bytes after a power cut are cut off`() async throws {
        let directory = try TemporaryDirectory()
        try (Data("{\"n\":1,\"id\":\"a\",\"text\":\"x\"}\n".utf8) + Data(count: 512)).write(to: directory.file)
        #expect(try await directory.open().load().map(\.id) == ["a"])
    }

    @Test func `of two messages with one id the later one counts, also for the next run`() async throws {
        let directory = try TemporaryDirectory()
        do {
            let file = try directory.open()
            _ = try await file.load()
            // The removal of the first message was not written.
            try await add(file, 1, "a", .text("over"))
            try await add(file, 2, "a", .text("promised"))
        }
        for _ in 0..<2 {
            let stored = try await directory.open().load()
            #expect(stored.map(\.serial) == [2] && stored.map(\.message) == [.text("promised")])
        }
    }

    @Test func `only one outbox can open a file, and only its owner can read it`() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.open()
        #expect(throws: OutboxError.inUse(directory.file.path)) { try directory.open() }
        _ = try await file.load()
        for path in [directory.file.path, directory.file.path + ".lock"] {
            let rights = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(rights == 0o600)
        }
    }

    @Test func `a file that cannot be made is an error with the system's text`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.url.appendingPathComponent("no/such").path
        #expect(throws: OutboxError.storage("\(path).lock: No such file or directory")) { try OutboxFile<String>(path) }
    }

    @Test func `the file stays small regardless of the number of messages`() async throws {
        let directory = try TemporaryDirectory()
        let text = String(repeating: "x", count: 1000)
        do {
            let file = try directory.open()
            _ = try await file.load()
            for serial in 1...1000 as ClosedRange<UInt64> {
                try await add(file, serial, "\(serial)", .text(text))
                if serial > 3 { await file.remove(serial - 3) }
            }
            #expect(try directory.bytes.count < 128 << 10, "the file is compacted though a megabyte was written")
        }
        #expect(try await directory.open().load().map(\.serial) == [998, 999, 1000])
    }
}
