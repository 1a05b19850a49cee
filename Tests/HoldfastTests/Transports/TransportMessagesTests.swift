import Holdfast
import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct TransportMessagesTests {
    @Test(arguments: TransportKind.allCases)
    func `text and binary messages, empty and large, pass unchanged in both directions`(_ kind: TransportKind) async throws {
        let messages: [Message] = [
            .text("hello"), .text("grüße, 世界 👋"), .text(""), .binary([]), .binary([0, 255, 1]),
            .text(String(repeating: "long ", count: 40_000)), block(1),
        ]
        try await kind.withPair { client, server in
            for message in messages {
                try await client.send(message)
                #expect(try await server.message() == message)
                try await server.send(message)
                #expect(try await client.message() == message)
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `many messages arrive in order`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            async let sending: Void = {
                for number in 0..<5000 { try await client.send(.text("\(number)")) }
            }()
            for number in 0..<5000 { #expect(try await server.message() == .text("\(number)")) }
            try await sending
        }
    }

    /// This also tests a failure of swift-websocket, which mixed fragments and compressed messages of two senders.
    @Test(arguments: TransportKind.allCases)
    func `pain 23: messages of many senders arrive whole and in each sender's order`(_ kind: TransportKind) async throws {
        let (senders, count) = (8, 40)
        try await kind.withPair { client, server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for sender in 0..<senders {
                    group.addTask {
                        for number in 0..<count {
                            try await client.send(.binary(Array(repeating: UInt8(sender), count: 20_000 + number)))
                        }
                    }
                }
                var next = Array(repeating: 0, count: senders)
                for _ in 0..<senders * count {
                    guard case .binary(let bytes)? = try await server.message() else { throw CancellationError() }
                    let sender = Int(bytes[0])
                    #expect(bytes == Array(repeating: UInt8(sender), count: 20_000 + next[sender]))
                    next[sender] += 1
                }
                try await group.waitForAll()
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a cancelled receive loses no message`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            var (received, random) = ([Int](), SeededGenerator(seed: 5))
            for number in 0..<400 {
                let receiving = Task { try await server.message() }
                if Bool.random(using: &random) { receiving.cancel() }
                try await client.send(.text("\(number)"))
                if Bool.random(using: &random) { receiving.cancel() }
                do {
                    if case .text(let text)? = try await receiving.value { received.append(Int(text) ?? -1) }
                } catch {
                    #expect((error as? TransportError)?.code == .cancelled)
                }
            }
            while received.count < 400, case .text(let text)? = try await server.message() { received.append(Int(text) ?? -1) }
            #expect(received == Array(0..<400))
            #expect(server.closeRecord == nil)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `several receivers share the messages, and each message arrives once`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            let received = await withTaskGroup(of: [String].self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        var received: [String] = []
                        while case .text(let text)? = try? await server.message() { received.append(text) }
                        return received
                    }
                }
                for number in 0..<500 { try? await client.send(.text("\(number)")) }
                _ = await client.close(CloseFrame(.normal))
                return await group.reduce(into: []) { $0 += $1 }
            }
            #expect(received.sorted() == (0..<500).map(String.init).sorted())
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a message in pieces arrives whole, without other messages inside it`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            let ticket = try await client.beginMessage()
            let others = Task { for number in 0..<20 { try await client.send(.text("other \(number)")) } }
            // A piece may end in the middle of a character.
            let bytes = Array(String(repeating: "piece ✂️ ", count: 3000).utf8)
            for start in stride(from: 0, to: bytes.count, by: 1001) {
                try await client.send(
                    MessageChunk(kind: .text, bytes: Array(bytes[start..<min(start + 1001, bytes.count)]), isLast: false), of: ticket)
            }
            try await client.send(MessageChunk(kind: .text, bytes: [], isLast: true), of: ticket)
            #expect(try await server.message() == .text(String(decoding: bytes, as: UTF8.self)))
            for number in 0..<20 { #expect(try await server.message() == .text("other \(number)")) }
            try await others.value
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a message can be received in pieces and is never buffered whole`(_ kind: TransportKind) async throws {
        var configuration = WebSocketConfiguration()
        configuration.delivery = .chunks
        configuration.limits.message = 64 << 20
        try await kind.withPair(configuration) { client, server in
            let sending = Task {
                let ticket = try await client.beginMessage()
                for number in 0..<200 {
                    guard case .binary(let bytes) = block(number) else { continue }
                    try await client.send(MessageChunk(kind: .binary, bytes: bytes, isLast: number == 199), of: ticket)
                }
            }
            var (received, isOver) = ([UInt8](), false)
            while !isOver, case .chunk(let chunk)? = try await server.receive() {
                #expect(chunk.kind == .binary && chunk.bytes.count <= 1 << 20)
                received += chunk.bytes
                isOver = chunk.isLast
            }
            let expected = (0..<200).reduce(into: [UInt8]()) { if case .binary(let bytes) = block($1) { $0 += bytes } }
            #expect(received == expected)
            try await sending.value
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a message above the limit is refused with 1009, and earlier messages are delivered`(_ kind: TransportKind) async throws {
        var configuration = WebSocketConfiguration()
        configuration.limits.message = 10_000
        try await kind.withPair(configuration) { client, server in
            try await client.send(.text("before"))
            try await client.send(.binary(Array(repeating: 0, count: 10_001)))
            #expect(try await server.message() == .text("before"))
            #expect(await failure { _ = try await server.message() } == .protocolViolation)
            guard case .failure(let error) = await client.ended() else { throw CancellationError() }
            #expect(error.code == .closed && error.record?.received?.code == .messageTooBig)
        }
    }

    @Test(arguments: TransportKind.streaming)
    func `text in pieces that is not UTF-8 is refused with 1007`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            let ticket = try await client.beginMessage()
            try await client.send(MessageChunk(kind: .text, bytes: [0x61, 0xC3], isLast: false), of: ticket)
            try await client.send(MessageChunk(kind: .text, bytes: [0x61], isLast: true), of: ticket)
            #expect(await failure { _ = try await server.message() } == .protocolViolation)
            guard case .failure(let error) = await client.ended() else { throw CancellationError() }
            #expect(error.record?.received?.code == .invalidPayload)
        }
    }
}
