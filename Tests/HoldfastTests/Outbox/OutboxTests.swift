import Foundation
import HoldfastTesting
import Testing

@testable import Holdfast

/// Messages that are sent until the app's own server acknowledges them.
@Suite(.timeLimit(.minutes(2))) struct OutboxTests {
    /// Parses the answers of these tests' servers: `ok 7`, `through 7`, `no 7`.
    static func answer(_ message: Message) -> OutboxAnswer<Int>? {
        guard case .text(let text) = message, let number = text.split(separator: " ").last.flatMap({ Int($0) }) else { return nil }
        return switch text.split(separator: " ").first {
        case "ok": .acknowledged(number)
        case "through": .acknowledgedThrough(number)
        case "no": .refused(number, reason: "rude")
        default: nil
        }
    }

    private func outbox(_ stage: Stage, _ policy: OutboxPolicy = OutboxPolicy()) async throws -> Outbox<Int> {
        try await stage.socket.outbox(policy: policy, acknowledgement: Self.answer)
    }

    @Test func `a message waits for the connection and ends when it is acknowledged, though the app reads nothing`() async throws {
        let stage = Stage()
        let outbox = try await outbox(stage)
        try await outbox.send("hello", id: 1)
        #expect(outbox.waiting.map(\.message) == [.text("hello")])
        let peer = try await stage.accept()
        #expect(try await peer.message() == .text("hello"))
        async let outcome = outbox.outcome(of: 1)
        try await peer.send(.text("ok 1"))
        #expect(await outcome == .acknowledged && outbox.waiting.isEmpty)
        #expect(await outbox.outcome(of: 1) == .acknowledged, "a late call gets the outcome too")
        #expect(await outbox.outcome(of: 2) == nil)
        try await outbox.send("again", id: 1)
        #expect(try await peer.message() == .text("again"))
        async let second = outbox.outcome(of: 1)
        try await peer.send(.text("no 1"))
        #expect(await second == .refused(reason: "rude"), "the outcome is not that of the first message with this id")
    }

    @Test func `after a loss all unacknowledged messages are sent again in order, before new ones`() async throws {
        let stage = Stage()
        let outbox = try await outbox(stage)
        let first = try await stage.accept()
        for number in 1...3 { try await outbox.send(value: "\(number)", id: number) }
        for number in 1...3 { #expect(try await first.message() == .text("\"\(number)\"")) }
        try await first.send(.text("ok 2"))
        _ = await outbox.outcome(of: 2)
        first.cut()
        let reconnecting = Task {
            for await event in stage.socket.events { if case .reconnecting = event { return } }
        }
        await reconnecting.value
        try await outbox.send("4", id: 4)
        await stage.pause()
        let second = try await stage.accept()
        #expect(try await second.message() == .text("\"1\""))
        #expect(try await second.message() == .text("\"3\""))
        #expect(try await second.message() == .text("4"))
        try await second.send(.text("through 4"))
        #expect(await outbox.flush())
    }

    @Test func `an unanswered message is sent again on the same connection`() async throws {
        let stage = Stage()
        let outbox = try await outbox(stage, OutboxPolicy(resendAfter: .seconds(7)))
        let peer = try await stage.accept()
        try await outbox.send("hello", id: 1)
        #expect(try await peer.message() == .text("hello"))
        await stage.pause(of: .seconds(7))
        #expect(try await peer.message() == .text("hello"))
        try await peer.send(.text("no 1"))
        #expect(await outbox.outcome(of: 1) == .refused(reason: "rude"))
    }

    @Test func `answers are not delivered to the app, and other messages are`() async throws {
        let stage = Stage()
        let outbox = try await outbox(stage)
        let peer = try await stage.accept()
        try await outbox.send(Data([1, 2]), id: 1)
        #expect(try await peer.message() == .binary([1, 2]))
        try await peer.send(.text("ok 1"))
        try await peer.send(.text("news"))
        var messages = stage.socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("news"))
    }

    @Test func `after the last answer the outbox lets other consumers read`() async throws {
        let stage = Stage()
        let texts = Task {
            var texts: [Message] = []
            for try await message in stage.socket.messages {
                texts.append(message)
                if texts.count == 4 { break }
            }
            return texts
        }
        let peer = try await stage.accept()
        try await peer.send(.text("news 1"))
        let outbox = try await outbox(stage)
        try await outbox.send("hello", id: 1)
        _ = try await peer.message()
        try await peer.send(.text("ok 1"))
        #expect(await outbox.outcome(of: 1) == .acknowledged)
        // While a lossy consumer exists, a task of the socket reads, and other consumers have to wake it.
        let lossy = stage.socket.messages(buffering: .latest).makeAsyncIterator()
        for number in 2...4 { try await peer.send(.text("news \(number)")) }
        #expect(try await texts.value == (1...4).map { .text("news \($0)") })
        withExtendedLifetime(lossy) {}
    }

    @Test func `two outboxes may understand the same answers`() async throws {
        let stage = Stage()
        let (one, other) = (try await outbox(stage), try await outbox(stage))
        let peer = try await stage.accept()
        try await one.send("one", id: 1)
        try await other.send("other", id: 2)
        for _ in 0..<2 { _ = try await peer.message() }
        try await peer.send(.text("ok 2"))
        try await peer.send(.text("ok 1"))
        #expect(await one.flush())
        #expect(await other.flush())
    }

    /// An id whose encoding waits for `mayFail` and then fails.
    private struct Unwritable: Codable, Hashable {
        static let mayFail = DispatchSemaphore(value: 0)

        init() {}
        init(from decoder: any Decoder) {}
        func encode(to encoder: any Encoder) throws {
            Self.mayFail.wait()
            throw EncodingError.invalidValue(self, .init(codingPath: [], debugDescription: "no"))
        }
    }

    @Test func `a message that cannot be stored disappears from the updates`() async throws {
        let stage = Stage()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("outbox-\(UUID())")
        defer { for name in [file.path, file.path + ".lock"] { try? FileManager.default.removeItem(atPath: name) } }
        let outbox = try await stage.socket.outbox(of: Unwritable.self, in: .file(file)) { _ in nil }
        var updates = outbox.updates.makeAsyncIterator()
        #expect(await updates.next()?.count == 0)
        let sent = Task { try await outbox.send("hello", id: Unwritable()) }
        #expect(await updates.next()?.count == 1)
        Unwritable.mayFail.signal()
        #expect(await updates.next()?.count == 0)
        await #expect(throws: OutboxError.self) { try await sent.value }
    }

    @Test func `an outbox is bounded and refuses a duplicate id`() async throws {
        let stage = Stage()
        let outbox = try await outbox(stage, OutboxPolicy(capacity: SendVolume(count: 2, bytes: 10)))
        try await outbox.send("1", id: 1)
        await #expect(throws: OutboxError.duplicate) { try await outbox.send("2", id: 1) }
        await #expect(throws: OutboxError.full) { try await outbox.send("more than ten", id: 2) }
        #expect(outbox.withdraw(1) && !outbox.withdraw(1) && outbox.waiting.isEmpty)
        #expect(await outbox.outcome(of: 1) == .withdrawn)
    }

    @Test func `waiting calls end with the socket and can be cancelled`() async throws {
        let stage = Stage()
        let outbox = try await outbox(stage)
        try await outbox.send("1", id: 1)
        let cancelled = Task { await outbox.outcome(of: 1) }
        cancelled.cancel()
        #expect(await cancelled.value == nil)
        let late = Task { await outbox.flush(within: .seconds(5)) }
        await stage.pause(of: .seconds(5))
        #expect(await late.value == false)
        async let outcome = outbox.outcome(of: 1)
        async let flushed = outbox.flush()
        await stage.socket.close()
        #expect(await outcome == nil)
        #expect(await !flushed)
        await #expect(throws: OutboxError.closed) { try await outbox.send("2", id: 2) }
    }

    @Test func `updates report the waiting messages at once and after every change`() async throws {
        let stage = Stage()
        let outbox = try await outbox(stage)
        var updates = outbox.updates.makeAsyncIterator()
        #expect(await updates.next()?.isEmpty == true)
        try await outbox.send("1", id: 1)
        #expect(await updates.next()?.map(\.id) == [1])
        outbox.withdraw(1)
        #expect(await updates.next()?.isEmpty == true)
        await stage.socket.close()
        #expect(await updates.next() == nil)
    }

    @Test func `a released outbox leaves the socket to other consumers`() async throws {
        let stage = Stage()
        var outbox: Outbox<Int>? = try await outbox(stage)
        let peer = try await stage.accept()
        try await outbox?.send("1", id: 1)
        #expect(try await peer.message() == .text("1"))
        outbox = nil
        try await stage.socket.send("plain")
        #expect(try await peer.message() == .text("plain"))
        try await peer.send(.text("ok 1"))
        var messages = stage.socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("ok 1"), "the answer is an ordinary message after the outbox is gone")
    }
}
