import DequeModule
import Testing
import WebSocketCore
import WebSocketRuntime

/// A queue that encodes small messages when it accepts them.
@MainActor @Suite(.timeLimit(.minutes(1))) struct OutboundEncoderTests {
    /// The capacity of three messages, encoded or not.
    private static let capacity = 96
    private let scribe = Scribe()
    private let works = Tally()
    private let queue: OutboundQueue

    init() {
        queue = OutboundQueue(capacity: Self.capacity, encoder: scribe) { [works] in works.add() }
    }

    /// What the transport gets: encoded messages first, then entries.
    private func taken(upTo limit: Int = .max) -> [String] {
        var encoded: [String] = []
        let entries = queue.take(upTo: limit) { encoded = scribe.take() }
        return encoded.map { "\($0)!" } + entries.map(\.text)
    }

    private func sending(_ message: Message) async -> Task<Result<Void, TransportError.Code>, Never> {
        await started { [queue] in await outcome { () async throws(TransportError) in try await queue.send(message) } }
    }

    private func fill() throws {
        for text in ["a", "b", "c"] { #expect(try queue.offer(.text(text))) }
        #expect(try !queue.offer(.text("d")))
    }

    @Test func `small messages are encoded in order`() async throws {
        try await queue.send(.text("a"))
        #expect(try queue.offer(.text("b")))
        #expect(taken() == ["a!", "b!"])
        #expect(taken().isEmpty)
    }

    @Test func `messages after an entry wait as entries, and are encoded again after a take`() throws {
        for message in [.text("a"), .binary([0x62]), .text("c")] as [Message] { #expect(try queue.offer(message)) }
        #expect(taken() == ["a!", "b", "c"])
        #expect(try queue.offer(.text("d")))
        #expect(taken() == ["d!"])
    }

    @Test func `a message in pieces keeps its place between encoded ones`() async throws {
        #expect(try queue.offer(.text("a")))
        let ticket = try await queue.beginMessage()
        let other = await sending(.text("c"))
        try await queue.send(MessageChunk(kind: .text, bytes: [0x62], isLast: true), of: ticket)
        #expect(await other.value.isSuccess)
        #expect(taken() == ["a!", "(b)", "c"])
    }

    @Test func `a limited batch contains all encoded messages and at least one entry`() throws {
        for message in [.text("a"), .binary([0x62]), .binary([0x63])] as [Message] { #expect(try queue.offer(message)) }
        #expect(taken(upTo: 1) == ["a!", "b"])
        // Nothing may be encoded before a waiting entry.
        #expect(try queue.offer(.text("d")))
        #expect(taken() == ["c", "d"])
    }

    @Test func `encoded messages use capacity until they are taken`() throws {
        try fill()
        #expect(taken() == ["a!", "b!", "c!"])
        try fill()
    }

    @Test func `encoded and other messages share the capacity`() throws {
        #expect(try queue.offer(.text("a")))
        for byte in 0x62...0x63 as ClosedRange<UInt8> { #expect(try queue.offer(.binary([byte]))) }
        #expect(try !queue.offer(.text("d")))
        #expect(taken() == ["a!", "b", "c"])
    }

    @Test func `one message above the capacity is encoded, but no second`() throws {
        #expect(try queue.offer(.text(String(repeating: "x", count: 5000))))
        #expect(try !queue.offer(.text("a")))
        #expect(taken().count == 1)
        #expect(try queue.offer(.text("a")))
    }

    /// Messages that a take admits are not part of it.
    ///
    /// Without a notification the transport would wait forever.
    @Test func `the transport is notified of messages that waiting senders put into an emptied queue`() async throws {
        try fill()
        #expect(works.count == 1)
        let waiting = await sending(.text("d"))
        #expect(taken() == ["a!", "b!", "c!"])
        #expect(await waiting.value.isSuccess)
        #expect(works.count == 2)
        #expect(queue.awaitWork())
        #expect(taken() == ["d!"])
        #expect(works.count == 2)
        #expect(try queue.offer(.text("e")))
        #expect(works.count == 3)
    }

    @Test func `the transport is notified once of many waiting senders`() async throws {
        try fill()
        var tasks: [Task<Result<Void, TransportError.Code>, Never>] = []
        for text in ["d", "e", "f", "g"] { tasks.append(await sending(.text(text))) }
        #expect(taken() == ["a!", "b!", "c!"])
        #expect(works.count == 2)
        #expect(taken() == ["d!", "e!", "f!"])
        #expect(works.count == 3)
        for task in tasks { #expect(await task.value.isSuccess) }
        #expect(taken() == ["g!"])
        #expect(!queue.awaitWork())
    }

    @Test func `a transport that took entries returns without a notification`() async throws {
        for byte in 0x61...0x63 as ClosedRange<UInt8> { #expect(try queue.offer(.binary([byte]))) }
        let waiting = await sending(.text("d"))
        #expect(taken() == ["a", "b", "c"])
        #expect(await waiting.value.isSuccess)
        #expect(works.count == 1, "the transport returns until the queue is empty")
        #expect(taken() == ["d!"])
        #expect(taken().isEmpty)
        #expect(try queue.offer(.text("e")))
        #expect(works.count == 2)
    }

    @Test func `encoded messages count as work`() throws {
        #expect(!queue.awaitWork())
        #expect(try queue.offer(.text("a")))
        #expect(works.count == 1)
        #expect(queue.awaitWork())
        #expect(taken() == ["a!"])
        #expect(!queue.awaitWork())
    }

    @Test func `after the end encoded messages can be taken, and no others are encoded`() async throws {
        try fill()
        let waiting = await sending(.text("d"))
        queue.finish(TransportError(.closed, "over"), discarding: false)
        #expect(await waiting.value.isFailure(.closed))
        #expect(throws: TransportError.self) { try queue.offer(.text("e")) }
        #expect(taken() == ["a!", "b!", "c!"])
        #expect(throws: TransportError.self) { try queue.offer(.text("e")) }
        #expect(taken().isEmpty)
    }

    @Test func `a lost link discards encoded messages`() async throws {
        try fill()
        let waiting = await sending(.text("d"))
        queue.finish(TransportError(.lost, "cut"), discarding: true)
        #expect(await waiting.value.isFailure(.lost))
        #expect(taken().isEmpty && !queue.awaitWork())
        #expect(scribe.byteCount == 0)
    }

    @Test func `a message cancelled while it waits is not encoded`() async throws {
        try fill()
        let (fourth, fifth) = (await sending(.text("d")), await sending(.text("e")))
        fourth.cancel()
        #expect(await fourth.value.isFailure(.cancelled))
        #expect(taken() == ["a!", "b!", "c!"])
        #expect(await fifth.value.isSuccess)
        #expect(taken() == ["e!"])
    }
}

/// Encodes text and leaves binary messages.
///
/// SAFETY: Accessed only under the lock of its queue.
final class Scribe: OutboundEncoder, @unchecked Sendable {
    private var texts: [String] = []
    private(set) var byteCount = 0

    func encode(_ message: Message) -> Bool {
        guard case .text(let text) = message else { return false }
        texts.append(text)
        byteCount += text.utf8.count + 32
        return true
    }

    func discard() { (texts, byteCount) = ([], 0) }

    func take() -> [String] {
        defer { discard() }
        return texts
    }
}

extension OutboundQueue.Entry {
    /// A message's text.
    ///
    /// Pieces have a bracket where their message begins or ends.
    fileprivate var text: String {
        switch self {
        case .mark: "|"
        case .message(.text(let text)): text
        case .message(.binary(let bytes)): String(decoding: bytes, as: UTF8.self)
        case .chunk(let chunk, let isFirst):
            (isFirst ? "(" : "") + String(decoding: chunk.bytes, as: UTF8.self) + (chunk.isLast ? ")" : "")
        }
    }
}
