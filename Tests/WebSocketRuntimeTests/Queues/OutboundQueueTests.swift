import DequeModule
import Testing
import WebSocketCore
import WebSocketRuntime

@MainActor @Suite(.timeLimit(.minutes(1))) struct OutboundQueueTests {
    /// The capacity of three of the messages below.
    private let queue = OutboundQueue(capacity: 96) {}

    private func fill() throws {
        for number in 1...3 { #expect(try queue.offer(numbered(number))) }
        #expect(try !queue.offer(numbered(4)))
    }

    private func sending(_ number: Int) async -> Task<Result<Int, TransportError.Code>, Never> {
        await started { [queue] in
            await outcome { () async throws(TransportError) in
                try await queue.send(numbered(number))
                return number
            }
        }
    }

    private func piece(_ text: String, isLast: Bool = false) -> MessageChunk {
        MessageChunk(kind: .text, bytes: Array(text.utf8), isLast: isLast)
    }

    private func taken(upTo limit: Int = .max) -> [String] { queue.take(upTo: limit).map(\.description) }

    @Test func `accepted messages are taken in order`() async throws {
        for number in 1...3 { try await queue.send(numbered(number)) }
        #expect(taken() == ["1", "2", "3"])
        #expect(taken().isEmpty && !queue.awaitWork())
    }

    @Test func `a batch ends at its limit, and has at least one entry`() throws {
        try fill()
        #expect(taken(upTo: 1) == ["1"])
        #expect(taken(upTo: 34) == ["2", "3"])
    }

    @Test func `senders wait while the queue is full, and continue in order`() async throws {
        try fill()
        let (fourth, fifth) = (await sending(4), await sending(5))
        #expect(taken(upTo: 1) == ["1"])
        #expect(await fourth.value == .success(4))
        #expect(taken(upTo: 1) == ["2"])
        #expect(await fifth.value == .success(5))
        #expect(taken() == ["3", "4", "5"])
    }

    @Test func `no sender overtakes a waiting one`() async throws {
        try fill()
        let fourth = await sending(4)
        _ = taken(upTo: 1)
        #expect(await fourth.value == .success(4))
        let fifth = await sending(5)
        #expect(try !queue.offer(numbered(6)))
        #expect(taken() == ["2", "3", "4"])
        #expect(await fifth.value == .success(5))
        #expect(try queue.offer(numbered(6)))
        #expect(taken() == ["5", "6"])
    }

    @Test func `a message in pieces begins after the waiting messages`() async throws {
        try fill()
        let fourth = await sending(4)
        let begin = await started { [queue] in try? await queue.beginMessage() }
        let fifth = await sending(5)
        #expect(taken() == ["1", "2", "3"])
        #expect(await fourth.value == .success(4))
        let ticket = try #require(await begin.value)
        try await queue.send(piece("a", isLast: true), of: ticket)
        #expect(await fifth.value == .success(5))
        #expect(taken() == ["4", "(a)", "5"])
    }

    @Test func `one message above the capacity is accepted, but no second`() throws {
        #expect(try queue.offer(.binary(Array(repeating: 7, count: 5000))))
        #expect(try !queue.offer(numbered(1)))
    }

    @Test func `a message cancelled while it waits is withdrawn`() async throws {
        try fill()
        let (fourth, fifth) = (await sending(4), await sending(5))
        fourth.cancel()
        #expect(await fourth.value == .failure(.cancelled))
        #expect(taken() == ["1", "2", "3"])
        #expect(await fifth.value == .success(5))
        #expect(taken() == ["5"])
    }

    @Test func `a cancelled task does not wait`() async throws {
        try fill()
        let task = Task { [queue] in
            withUnsafeCurrentTask { $0?.cancel() }
            return await outcome { () async throws(TransportError) in try await queue.send(numbered(4)) }.isFailure(.cancelled)
        }
        #expect(await task.value)
        #expect(taken() == ["1", "2", "3"])
    }

    @Test func `the transport is notified once until it finds the queue empty`() async throws {
        let works = Tally()
        let queue = OutboundQueue(capacity: 96) { works.add() }
        for number in 1...3 { #expect(try queue.offer(numbered(number))) }
        #expect(works.count == 1)
        #expect(queue.take(upTo: .max).count == 3)
        #expect(try queue.offer(numbered(4)))
        #expect(works.count == 1, "the transport returns until the queue is empty")
        #expect(queue.take(upTo: .max).count == 1)
        #expect(queue.take(upTo: .max).isEmpty)
        #expect(try queue.offer(numbered(5)))
        #expect(works.count == 2)
        #expect(queue.awaitWork())
        #expect(queue.take(upTo: .max).count == 1)
        #expect(!queue.awaitWork())
        #expect(try queue.offer(numbered(6)))
        #expect(works.count == 3)
    }

    @Test func `other messages wait until a message in pieces is complete`() async throws {
        let ticket = try await queue.beginMessage()
        let other = await sending(1)
        #expect(try !queue.offer(numbered(2)))
        try await queue.send(piece("a"), of: ticket)
        try await queue.send(piece("b"), of: ticket)
        #expect(taken() == ["(a", "b"])
        try await queue.send(piece("c", isLast: true), of: ticket)
        #expect(await other.value == .success(1))
        #expect(taken() == ["c)", "1"])
    }

    @Test func `a piece that waits for capacity goes first`() async throws {
        let ticket = try await queue.beginMessage()
        for text in ["a", "b", "c"] { try await queue.send(piece(text), of: ticket) }
        let other = await sending(1)
        let last = await started { [queue] in
            await outcome { () async throws(TransportError) in try await queue.send(piece("d", isLast: true), of: ticket) }
        }
        #expect(taken() == ["(a", "b", "c"])
        #expect(await last.value.isSuccess)
        #expect(await other.value == .success(1))
        #expect(taken() == ["d)", "1"])
    }

    @Test func `messages in pieces are sent one after the other`() async throws {
        let first = try await queue.beginMessage()
        let second = await started { [queue] in try? await queue.beginMessage() }
        try await queue.send(piece("a", isLast: true), of: first)
        let ticket = try #require(await second.value)
        try await queue.send(piece("b", isLast: true), of: ticket)
        #expect(taken() == ["(a)", "(b)"])
    }

    @Test func `a message abandoned before its first piece has no effect`() async throws {
        let ticket = try await queue.beginMessage()
        let other = await sending(1)
        #expect(!queue.abandon(ticket))
        #expect(!queue.abandon(ticket))
        #expect(await other.value == .success(1))
        #expect(taken() == ["1"])
    }

    @Test func `after an abandoned partial message the queue is closed`() async throws {
        let ticket = try await queue.beginMessage()
        try await queue.send(piece("a"), of: ticket)
        let other = await sending(1)
        #expect(queue.abandon(ticket))
        #expect(await other.value == .failure(.closed))
        #expect(await sending(2).value == .failure(.closed))
        #expect(taken() == ["(a"])
    }

    @Test func `a piece without a valid ticket is refused, and blocks no other message`() async throws {
        let ticket = try await queue.beginMessage()
        try await queue.send(piece("a", isLast: true), of: ticket)
        #expect(await outcome { () async throws(TransportError) in try await queue.send(piece("b"), of: ticket) }.isFailure(.cancelled))
        try await queue.send(numbered(1))
        #expect(taken() == ["(a)", "1"])
    }

    @Test func `a piece that waits when its message is abandoned is refused`() async throws {
        let ticket = try await queue.beginMessage()
        for text in ["a", "b", "c"] { try await queue.send(piece(text), of: ticket) }
        let last = await started { [queue] in
            await outcome { () async throws(TransportError) in try await queue.send(piece("d"), of: ticket) }
        }
        #expect(queue.abandon(ticket))
        #expect(await !last.value.isSuccess)
    }

    @Test func `a cancelled wait for a ticket gives it to the next sender`() async throws {
        let first = try await queue.beginMessage()
        let second = await started { [queue] in await outcome { () async throws(TransportError) in try await queue.beginMessage() } }
        let third = await started { [queue] in try? await queue.beginMessage() }
        second.cancel()
        #expect(await second.value.isFailure(.cancelled))
        #expect(!queue.abandon(first))
        #expect(await third.value != nil)
    }

    @Test func `after the end accepted messages can be taken, and no others are accepted`() async throws {
        try fill()
        let fourth = await sending(4)
        queue.finish(TransportError(.closed, "over"), discarding: false)
        #expect(await fourth.value == .failure(.closed))
        #expect(throws: TransportError.self) { try queue.offer(numbered(5)) }
        #expect(taken() == ["1", "2", "3"])
    }

    @Test func `a lost link discards accepted messages`() throws {
        try fill()
        queue.finish(TransportError(.lost, "cut"), discarding: true)
        #expect(taken().isEmpty)
        #expect(throws: TransportError.self) { try queue.offer(numbered(5)) }
    }

    @Test func `all waiting tasks learn of the end`() async throws {
        let ticket = try await queue.beginMessage()
        for text in ["a", "b", "c"] { try await queue.send(piece(text), of: ticket) }
        let message = await sending(1)
        let begin = await started { [queue] in await outcome { () async throws(TransportError) in try await queue.beginMessage() } }
        let further = await started { [queue] in
            await outcome { () async throws(TransportError) in try await queue.send(piece("d"), of: ticket) }
        }
        queue.finish(TransportError(.lost, "cut"), discarding: true)
        #expect(await message.value == .failure(.lost))
        #expect(await begin.value.isFailure(.lost))
        #expect(await further.value.isFailure(.lost))
    }
}

extension Result where Failure == TransportError.Code {
    var isSuccess: Bool { if case .success = self { true } else { false } }
    func isFailure(_ code: Failure) -> Bool { if case .failure(code) = self { true } else { false } }
}

extension OutboundQueue.Entry {
    /// A message's text.
    ///
    /// Pieces have a bracket where their message begins or ends.
    fileprivate var description: String {
        switch self {
        case .mark: "|"
        case .message(let message): message.number.map(String.init) ?? "?"
        case .chunk(let chunk, let isFirst):
            (isFirst ? "(" : "") + String(decoding: chunk.bytes, as: UTF8.self) + (chunk.isLast ? ")" : "")
        }
    }
}
