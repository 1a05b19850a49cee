import DequeModule
import Testing
import WebSocketCore
import WebSocketRuntime

/// A queue that has its small messages encoded as they are accepted.
@MainActor @Suite(.timeLimit(.minutes(1))) struct OutboundEncoderTests {
    /// Full once 96 bytes wait, which three messages are, encoded or not.
    private static let capacity = 96
    private let scribe = Scribe()
    private let works = Tally()
    private let queue: OutboundQueue

    init() {
        queue = OutboundQueue(capacity: Self.capacity, encoder: scribe) { [works] in works.add() }
    }

    /// What the transport gets: what was encoded, then the entries.
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

    @Test func `behind an entry all wait as entries, and after a take they are encoded again`() throws {
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

    @Test func `a batch smaller than what waits is what was encoded and at least one entry`() throws {
        for message in [.text("a"), .binary([0x62]), .binary([0x63])] as [Message] { #expect(try queue.offer(message)) }
        #expect(taken(upTo: 1) == ["a!", "b"])
        // Nothing may be encoded ahead of an entry that still waits.
        #expect(try queue.offer(.text("d")))
        #expect(taken() == ["c", "d"])
    }

    @Test func `what is encoded takes room until it is taken`() throws {
        try fill()
        #expect(taken() == ["a!", "b!", "c!"])
        try fill()
    }

    @Test func `what is encoded and what is not fill the queue together`() throws {
        #expect(try queue.offer(.text("a")))
        for byte in 0x62...0x63 as ClosedRange<UInt8> { #expect(try queue.offer(.binary([byte]))) }
        #expect(try !queue.offer(.text("d")))
        #expect(taken() == ["a!", "b", "c"])
    }

    @Test func `one message larger than all room is encoded, and no second`() throws {
        #expect(try queue.offer(.text(String(repeating: "x", count: 5000))))
        #expect(try !queue.offer(.text("a")))
        #expect(taken().count == 1)
        #expect(try queue.offer(.text("a")))
    }

    /// What a take lets in is not part of it: the transport must hear of it, or it would wait for ever.
    @Test func `the transport is told of what those who waited put into a queue it has just emptied`() async throws {
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

    @Test func `the transport is told once of many who waited`() async throws {
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

    @Test func `the transport that took entries comes back by itself, for what those who waited left too`() async throws {
        for byte in 0x61...0x63 as ClosedRange<UInt8> { #expect(try queue.offer(.binary([byte]))) }
        let waiting = await sending(.text("d"))
        #expect(taken() == ["a", "b", "c"])
        #expect(await waiting.value.isSuccess)
        #expect(works.count == 1, "whoever took something comes back until nothing is left")
        #expect(taken() == ["d!"])
        #expect(taken().isEmpty)
        #expect(try queue.offer(.text("e")))
        #expect(works.count == 2)
    }

    @Test func `what is encoded is work`() throws {
        #expect(!queue.awaitWork())
        #expect(try queue.offer(.text("a")))
        #expect(works.count == 1)
        #expect(queue.awaitWork())
        #expect(taken() == ["a!"])
        #expect(!queue.awaitWork())
    }

    @Test func `after the end what was encoded can be taken, and nothing more is encoded`() async throws {
        try fill()
        let waiting = await sending(.text("d"))
        queue.finish(TransportError(.closed, "over"), discarding: false)
        #expect(await waiting.value.isFailure(.closed))
        #expect(throws: TransportError.self) { try queue.offer(.text("e")) }
        #expect(taken() == ["a!", "b!", "c!"])
        #expect(throws: TransportError.self) { try queue.offer(.text("e")) }
        #expect(taken().isEmpty)
    }

    @Test func `a lost link discards what was encoded`() async throws {
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

/// Encodes text, and leaves bytes as they are.
///
/// SAFETY: touched only under the lock of the queue that it belongs to.
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
    /// A message's bytes as text; a piece's, with a bracket where its message begins or ends.
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
