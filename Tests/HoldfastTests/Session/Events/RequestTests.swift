import Holdfast
import HoldfastTesting
import WebSocketRuntime
import Testing
import WebSocketCore

/// Requests and their answers over messages.
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

    /// Sends a request and waits for an answer that begins with `text`.
    private func ask(_ stage: Stage, _ text: String, timeout: Duration = .seconds(30)) async throws(WebSocketError) -> String {
        let answer = { @Sendable (message: Message) in message.requestText.flatMap { $0.hasPrefix(text) ? $0 : nil } }
        return try await stage.socket.request(.text("get \(text)"), matching: answer, timeout: timeout)
    }

    private func expectRequest(_ text: String, at peer: MemoryTransport) async throws {
        #expect(try await peer.receive() == .message(.text("get \(text)")))
    }

    @Test func `an answer is found among other messages, though no consumer reads`() async throws {
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

    @Test func `each of many simultaneous requests gets its own answer, in any order`() async throws {
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

    @Test func `if several requests match a message, the oldest one gets it`() async throws {
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

    @Test func `an answer is among the events, but not among the messages or in a typed stream`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        var reader = stage.eventReader()
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
        #expect(await reader.next() == .opened)
        #expect(await reader.next() == .message(text))
        #expect(await reader.next() == .message(other))
    }

    @Test func `events that a request reads are kept for a later consumer, up to a limit`() async throws {
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
        // The states connecting and connected, the opening and twice 101 messages were read; 64 are kept.
        guard case .missed(141)? = await events.next() else { return #expect(Bool(false), "no missed event") }
        for number in 38...100 {
            guard case .message(.text("2 \(number)"))? = await events.next() else { return #expect(Bool(false), "\(number)") }
        }
        guard case .message(.text("a"))? = await events.next() else { return #expect(Bool(false), "no answer") }
    }

    @Test func `when the reading consumer leaves, a request reads on`() async throws {
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

    @Test func `when the reading request ends, another waiting one reads on`() async throws {
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

    @Test func `a request ends at its timeout, and a late answer is an ordinary message`() async throws {
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

    @Test func `a cancelled request stops waiting`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        let asking = Task { await code { () async throws(WebSocketError) in _ = try await ask(stage, "a") } }
        try await expectRequest("a", at: peer)
        asking.cancel()
        #expect(await asking.value == .cancelled)
    }

    @Test func `the loss of its connection ends a request at once, and not one on another connection`() async throws {
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

    @Test func `an answer that arrived before the loss counts`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        var reader = stage.eventReader()
        #expect(await reader.next() == .opened)
        // Reading stops while this consumer is full.
        var full: WebSocketEvents.AsyncIterator? = stage.socket.events(buffering: .suspend(capacity: 1)).makeAsyncIterator()
        try await peer.send(Self.noise)
        #expect(await reader.next() == .message(Self.noise))
        async let answer = ask(stage, "a", timeout: .seconds(3600))
        try await expectRequest("a", at: peer)
        try await peer.send(.text("a"))
        _ = try await peer.ping(timeout: .seconds(20))
        peer.cut()
        guard case .failure = await peer.ended() else { throw CancellationError() }
        _ = full.take()
        #expect(try await answer == "a")
    }

    @Test func `a clean close by the peer ends a request`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        let asking = Task { await code { () async throws(WebSocketError) in _ = try await ask(stage, "a") } }
        try await expectRequest("a", at: peer)
        _ = await peer.close(CloseFrame(.serviceRestart))
        #expect(await asking.value == .closed)
    }

    @Test func `closing the socket ends a request`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        let asking = Task { await code { () async throws(WebSocketError) in _ = try await ask(stage, "a") } }
        try await expectRequest("a", at: peer)
        await stage.socket.close()
        #expect(await asking.value == .closed)
        #expect(await code { () async throws(WebSocketError) in _ = try await ask(stage, "a") } == .closed)
    }

    @Test func `the number of waiting requests is limited, and a finished one makes space`() async throws {
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

    @Test func `no id is used twice, even over several connections`() async throws {
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

    @Test func `an id may be a string of digits under another key, and the request may be a message`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        async let answer = stage.socket.request(by: .json(key: "reqid")) { .text("\($0)") }
        #expect(try await peer.receive() == .message(.text("1")))
        for text in [#"{"id":1}"#, #"{"reqid":"x1"}"#, #"{"reqid":2}"#, "1", #"{"reqid":"1"}"#] { try await peer.send(.text(text)) }
        #expect(try await answer == .text(#"{"reqid":"1"}"#))
    }

    @Test func `an id may be in a map of MessagePack or CBOR`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        // The bytes are {"id": 1} and {"id": "2"}.
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

    /// Encodes a number as a map with an `id` in a binary format.
    struct NumberCodec: MessageCodec {
        private struct NoNumber: Error {}
        let name: String
        let prefix: [UInt8]

        func encode<Value: Encodable>(_ value: Value) throws -> Message {
            guard let number = value as? UInt64 else { throw NoNumber() }
            return .binary(prefix + [UInt8(number)])
        }

        func decode<Value: Decodable>(_ type: Value.Type, from payload: RawSpan, _ kind: MessageKind) throws -> Value {
            guard let last = payload.withUnsafeBytes({ $0.last }), let number = UInt64(last) as? Value else { throw NoNumber() }
            return number
        }
    }

    @Test(arguments: [
        NumberCodec(name: "msgpack", prefix: [0x81, 0xA2, 0x69, 0x64]), NumberCodec(name: "cbor", prefix: [0xA1, 0x62, 0x69, 0x64]),
    ])
    func `the codec's name decides the format in which an id is searched`(codec: NumberCodec) async throws {
        let stage = Stage { $0.codec = codec }
        let peer = try await stage.accept()
        async let answer: UInt64 = stage.socket.request { $0 }
        guard case .message(let question)? = try await peer.receive() else {
            Issue.record("no request arrived")
            return
        }
        try await peer.send(question)
        #expect(try await answer == 1)
    }

    @Test func `a custom correlation reads the id of an answer once for all requests`() async throws {
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

    @Test func `a failed encoding of a request or decoding of an answer is a codec error`() async throws {
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
