import Holdfast
import HoldfastTesting
import WebSocketRuntime
import Testing
import WebSocketCore

/// Requests and their answers, over messages.
@Suite(.timeLimit(.minutes(2))) struct RequestTests {
    struct Question: Codable, Sendable {
        var id: UInt64
        var number: Int
    }
    struct Answer: Codable, Hashable, Sendable {
        var id: UInt64
        var double: Int
    }

    /// A message that answers no request.
    private static let noise = Message.text(#"{"news":1}"#)

    /// Waits for an answer that begins with `text`.
    private func ask(_ stage: Stage, _ text: String, timeout: Duration = .seconds(30)) async throws(WebSocketError) -> String {
        let answer = { @Sendable (message: Message) in message.requestText.flatMap { $0.hasPrefix(text) ? $0 : nil } }
        return try await stage.socket.request(.text("get \(text)"), matching: answer, timeout: timeout)
    }

    private func expectRequest(_ text: String, at peer: MemoryTransport) async throws {
        #expect(try await peer.receive() == .message(.text("get \(text)")))
    }

    @Test func `an answer comes though nobody else reads, past what is none`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        async let answer = ask(stage, "a")
        try await expectRequest("a", at: peer)
        for _ in 1...200 { try await peer.send(Self.noise) }
        try await peer.send(.text("a, and more"))
        #expect(try await answer == "a, and more")
    }

    @Test func `a request waits for the connection`() async throws {
        let stage = Stage()
        async let answer = ask(stage, "a", timeout: .seconds(3600))
        try await stage.refuse()
        await stage.pause()
        let peer = try await stage.accept()
        try await expectRequest("a", at: peer)
        try await peer.send(.text("a"))
        #expect(try await answer == "a")
    }

    @Test func `many at once: each has its own answer, in whatever order they come`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...200 {
                group.addTask {
                    let answer: Answer = try await stage.socket.request { Question(id: $0, number: number) }
                    #expect(answer.double == 2 * number)
                }
            }
            var questions: [Question] = []
            while questions.count < 200 {
                guard case .message(let message)? = try await peer.receive() else { throw CancellationError() }
                questions.append(try JSONCodec().decode(Question.self, from: message))
            }
            #expect(Set(questions.map(\.id)).count == 200)
            var random = SplitMix64(seed: 1)
            for question in questions.shuffled(using: &random) {
                try await peer.send(JSONCodec().encode(Answer(id: question.id, double: 2 * question.number)))
                try await peer.send(Self.noise)
            }
            try await group.waitForAll()
        }
    }

    @Test func `of several that take the same message the oldest gets it`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        async let first = ask(stage, "a")
        try await expectRequest("a", at: peer)
        async let second = ask(stage, "a")
        try await expectRequest("a", at: peer)
        try await peer.send(.text("a 1"))
        try await peer.send(.text("a 2"))
        #expect(try await first == "a 1")
        #expect(try await second == "a 2")
    }

    @Test func `an answer is among the events, and neither among the messages nor in a typed stream`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        var story = stage.story()
        var messages = stage.socket.messages.makeAsyncIterator()
        var answers = stage.socket.stream(of: Answer.self).makeAsyncIterator()
        async let answer: Answer = stage.socket.request { Question(id: $0, number: 1) }
        _ = try await peer.receive()
        let (text, other) = (Message.text(#"{"id":1,"double":2}"#), Message.text(#"{"id":100,"double":5}"#))
        try await peer.send(text)
        #expect(try await answer == Answer(id: 1, double: 2))
        try await peer.send(other)
        #expect(try await messages.next() == other)
        #expect(try await answers.next() == Answer(id: 100, double: 5))
        #expect(await story.next() == .opened)
        #expect(await story.next() == .message(text))
        #expect(await story.next() == .message(other))
    }

    @Test func `what requests read for themselves waits for who follows the events, within bounds`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        for round in 1...2 {
            async let answer = ask(stage, "a")
            try await expectRequest("a", at: peer)
            for number in 1...100 { try await peer.send(.text("\(round) \(number)")) }
            try await peer.send(.text("a"))
            #expect(try await answer == "a")
        }
        var events = stage.socket.events.makeAsyncIterator()
        // The state of connecting, of being connected, the opening, twice 101 messages; 64 are left.
        guard case .missed(141)? = await events.next() else { return #expect(Bool(false), "no hole") }
        for number in 38...100 {
            guard case .message(.text("2 \(number)"))? = await events.next() else { return #expect(Bool(false), "\(number)") }
        }
        guard case .message(.text("a"))? = await events.next() else { return #expect(Bool(false), "no answer") }
    }

    @Test func `when whoever reads goes, the request reads on`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        let reading = Task { for await _ in stage.socket.events {} }
        async let answer = ask(stage, "a")
        try await expectRequest("a", at: peer)
        try await peer.send(Self.noise)
        _ = try await peer.ping(timeout: .seconds(20))
        reading.cancel()
        await reading.value
        try await peer.send(.text("a"))
        #expect(try await answer == "a")
    }

    @Test func `when the request that reads is answered or gives up, whoever else waits reads on`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        let cancelled = Task { try await ask(stage, "c") }
        try await expectRequest("c", at: peer)
        async let first = ask(stage, "a")
        try await expectRequest("a", at: peer)
        async let second = ask(stage, "b")
        try await expectRequest("b", at: peer)
        cancelled.cancel()
        _ = await cancelled.result
        try await peer.send(.text("a"))
        #expect(try await first == "a")
        try await peer.send(.text("b"))
        #expect(try await second == "b")
    }

    @Test func `it gives up in time, and a late answer is a message like others`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        let asking = Task { await code { () async throws(WebSocketError) in _ = try await ask(stage, "a", timeout: .seconds(7)) } }
        try await expectRequest("a", at: peer)
        await stage.pause(of: .seconds(7))
        #expect(await asking.value == .timedOut)
        try await peer.send(.text("a"))
        var messages = stage.socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("a"))
    }

    @Test func `a cancelled request waits no more`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        let asking = Task { await code { () async throws(WebSocketError) in _ = try await ask(stage, "a") } }
        try await expectRequest("a", at: peer)
        asking.cancel()
        #expect(await asking.value == .cancelled)
    }

    @Test func `the loss of its connection ends it at once, and not those of another connection`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        let asking = Task { await code { () async throws(WebSocketError) in _ = try await ask(stage, "a", timeout: .seconds(3600)) } }
        try await expectRequest("a", at: peer)
        peer.cut()
        #expect(await asking.value == .lost)
        await stage.pause()
        let next = try await stage.accept()
        async let answer = ask(stage, "b")
        try await expectRequest("b", at: next)
        try await next.send(.text("b"))
        #expect(try await answer == "b")
    }

    @Test func `an answer that had come before the loss counts`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        var story = stage.story()
        #expect(await story.next() == .opened)
        // Nobody reads while this consumer is full.
        var full: WebSocketEvents.AsyncIterator? = stage.socket.events(buffering: .suspend(capacity: 1)).makeAsyncIterator()
        try await peer.send(Self.noise)
        #expect(await story.next() == .message(Self.noise))
        async let answer = ask(stage, "a", timeout: .seconds(3600))
        try await expectRequest("a", at: peer)
        try await peer.send(.text("a"))
        _ = try await peer.ping(timeout: .seconds(20))
        peer.cut()
        guard case .failure = await peer.ended() else { throw CancellationError() }
        _ = full.take()
        #expect(try await answer == "a")
    }

    @Test func `a peer that closes in peace ends it, too`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        let asking = Task { await code { () async throws(WebSocketError) in _ = try await ask(stage, "a") } }
        try await expectRequest("a", at: peer)
        _ = await peer.close(CloseFrame(.serviceRestart))
        #expect(await asking.value == .closed)
    }

    @Test func `closing the socket ends it`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        let asking = Task { await code { () async throws(WebSocketError) in _ = try await ask(stage, "a") } }
        try await expectRequest("a", at: peer)
        await stage.socket.close()
        #expect(await asking.value == .closed)
        #expect(await code { () async throws(WebSocketError) in _ = try await ask(stage, "a") } == .closed)
    }

    @Test func `there is a limit to those that wait, and room again when one ends`() async throws {
        let stage = Stage { $0.requestLimit = 2 }
        let peer = try await stage.accept()
        let asking = Task { try await ask(stage, "a") }
        try await expectRequest("a", at: peer)
        async let second = ask(stage, "b")
        try await expectRequest("b", at: peer)
        #expect(await code { () async throws(WebSocketError) in _ = try await ask(stage, "c") } == .busy)
        asking.cancel()
        _ = await asking.result
        async let third = ask(stage, "c")
        try await expectRequest("c", at: peer)
        for text in ["b", "c"] { try await peer.send(.text(text)) }
        #expect(try await second == "b")
        #expect(try await third == "c")
    }

    @Test func `ids are not used twice, whatever the connection`() async throws {
        let stage = Stage()
        var ids: [UInt64] = []
        for _ in 1...3 {
            let peer = try await stage.accept()
            for _ in 1...2 {
                let asking = Task { try await stage.socket.request(Answer.self) { Question(id: $0, number: 1) } }
                guard case .message(let message)? = try await peer.receive() else { throw CancellationError() }
                ids.append(try JSONCodec().decode(Question.self, from: message).id)
                asking.cancel()
                _ = await asking.result
            }
            peer.cut()
            await stage.pause(of: .seconds(1 << (ids.count / 2 - 1)))
        }
        #expect(ids == [1, 2, 3, 4, 5, 6])
    }

    @Test func `an id may be a string of digits under another key, and the request a message`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        async let answer = stage.socket.request(by: .json(key: "reqid")) { .text("\($0)") }
        #expect(try await peer.receive() == .message(.text("1")))
        for text in [#"{"id":1}"#, #"{"reqid":"x1"}"#, #"{"reqid":2}"#, "1", #"{"reqid":"1"}"#] { try await peer.send(.text(text)) }
        #expect(try await answer == .text(#"{"reqid":"1"}"#))
    }

    @Test func `an id may stand in a map of MessagePack or CBOR`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        // {"id": 1} and {"id": "2"}
        let answers: [(RequestCorrelation, [UInt8])] = [
            (.messagePack(), [0x81, 0xA2, 0x69, 0x64, 0x01]), (.cbor(), [0xA1, 0x62, 0x69, 0x64, 0x61, 0x32]),
        ]
        for (correlation, bytes) in answers {
            async let answer = stage.socket.request(by: correlation) { .text("\($0)") }
            _ = try await peer.receive()
            try await peer.send(.binary(bytes))
            #expect(try await answer == .binary(bytes))
        }
    }

    /// Numbers, each as a map with an `id` in a binary format.
    struct NumberCodec: MessageCodec {
        private struct NoNumber: Error {}
        let name: String
        let head: [UInt8]

        func encode<Value: Encodable>(_ value: Value) throws -> Message {
            guard let number = value as? UInt64 else { throw NoNumber() }
            return .binary(head + [UInt8(number)])
        }

        func decode<Value: Decodable>(_ type: Value.Type, from payload: RawSpan, _ kind: MessageKind) throws -> Value {
            guard let last = payload.withUnsafeBytes({ $0.last }), let number = UInt64(last) as? Value else { throw NoNumber() }
            return number
        }
    }

    @Test(arguments: [
        NumberCodec(name: "msgpack", head: [0x81, 0xA2, 0x69, 0x64]), NumberCodec(name: "cbor", head: [0xA1, 0x62, 0x69, 0x64]),
    ])
    func `an id is looked for in the format that the codec's name says`(codec: NumberCodec) async throws {
        let stage = Stage { $0.codec = codec }
        let peer = try await stage.accept()
        async let answer: UInt64 = stage.socket.request { $0 }
        guard case .message(let question)? = try await peer.receive() else {
            Issue.record("no question came")
            return
        }
        try await peer.send(question)
        #expect(try await answer == 1)
    }

    @Test func `an id may be read in a way of one's own, once for all requests`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        let reads = LockedValue(0)
        let correlation = RequestCorrelation { message in
            reads.withLockedValue { $0 += 1 }
            return message.requestText.flatMap { UInt64($0) }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...10 {
                group.addTask { _ = try await stage.socket.request(by: correlation) { .text("\($0)") } }
            }
            var ids: [Message] = []
            while ids.count < 10, case .message(let message)? = try await peer.receive() { ids.append(message) }
            for id in ids { try await peer.send(id) }
            try await group.waitForAll()
        }
        #expect(reads.withLockedValue(\.self) == 10)
    }

    @Test func `what cannot be encoded, or is no answer of the kind, is an error of the codec`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        let sent = await code { () async throws(WebSocketError) in
            let _: String = try await stage.socket.request(value: Double.infinity, matching: \.requestText)
        }
        #expect(sent == .codec)
        let asking = Task {
            await code { () async throws(WebSocketError) in
                _ = try await stage.socket.request(Answer.self) { Question(id: $0, number: 1) }
            }
        }
        _ = try await peer.receive()
        try await peer.send(.text(#"{"id":1}"#))
        #expect(await asking.value == .codec)
    }
}

extension Message {
    fileprivate var requestText: String? { if case .text(let text) = self { text } else { nil } }
}
