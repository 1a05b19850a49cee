import Holdfast
import HoldfastTesting
import Testing

/// Flow control when one side does not keep up.
@Suite(.timeLimit(.minutes(1))) struct TransportPressureTests {
    @Test(arguments: TransportKind.allCases)
    func `a send waits for a peer that reads nothing, and the connection ends at the stall timeout`(_ kind: TransportKind) async throws {
        var configuration = WebSocketConfiguration()
        configuration.timeouts.stall = .milliseconds(200)
        try await kind.withPair(configuration) { client, server in
            let (count, code) = await client.flood(2000, block)
            #expect(code == .stalled)
            #expect(count * 65_536 <= 256 * 1024 + 64 * 1024 + 3 * 65_536 + kind.slack)
            guard case .failure(let error) = await client.ended() else { throw CancellationError() }
            #expect(error.code == .stalled && error.record?.isClean == false)
        }
    }

    @Test func `the buffer of small messages in memory is limited too`() async throws {
        var configuration = WebSocketConfiguration()
        (configuration.limits.receiveBuffer, configuration.limits.sendBuffer) = (4096, 4096)
        configuration.timeouts.stall = .milliseconds(200)
        try await TransportKind.memory.withPair(configuration) { client, server in
            let (count, code) = await client.flood(2000) { _ in .text("") }
            #expect(code == .stalled)
            #expect(count >= 128 && count <= 4096 / 64 + 2 * 4096 / 32 + 4)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a waiting sender continues when the peer reads`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            let sending = Task { await client.flood(600, block) }  // These messages exceed the buffers of both ends and the system.
            for number in 0..<600 {
                let message = try await server.message()
                #expect(message == block(number))
            }
            #expect(await sending.value.count == 600)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a waiting send that is cancelled is withdrawn, and no other message is`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            // A cancelled send ends where it has to wait, which happens soon because the peer reads nothing.
            let sending = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await client.flood(2000, block)
            }
            let (count, code) = await sending.value
            #expect(code == .cancelled)
            let next = Task { try await client.send(.text("next")) }
            for number in 0..<count { #expect(try await server.message() == block(number)) }
            #expect(try await server.message() == .text("next"))
            try await next.value
            #expect(client.closeRecord == nil)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `offer returns false where send would wait`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            var count = 0
            while count < 2000, try client.offer(block(count)) { count += 1 }
            #expect(count < 2000)
            for number in 0..<count { #expect(try await server.message() == block(number)) }
            try await client.send(.text("next"))
            #expect(try await server.message() == .text("next"))
        }
    }

    /// Each message alone exceeds the receive buffer.
    @Test(arguments: TransportKind.allCases)
    func `no message is lost when one read exceeds the receive buffer`(_ kind: TransportKind) async throws {
        var configuration = WebSocketConfiguration()
        configuration.limits.receiveBuffer = 100
        try await kind.withPair(configuration) { client, server in
            let sending = Task { for number in 0..<400 { try await client.send(.text("\(number)" + String(repeating: ".", count: 900))) } }
            for number in 0..<400 {
                guard case .text(let text)? = try await server.message() else { throw CancellationError() }
                #expect(text.hasPrefix("\(number)."))
            }
            try await sending.value
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `messages of the largest size can follow each other`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            let sending = Task {
                for number in 0..<24 { try await client.send(.binary(Array(repeating: UInt8(number), count: 1 << 20))) }
            }
            for number in 0..<24 {
                guard case .binary(let bytes)? = try await server.message() else { throw CancellationError() }
                #expect(bytes.count == 1 << 20 && bytes.first == UInt8(number))
            }
            try await sending.value
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a slow app gets the messages before a close`(_ kind: TransportKind) async throws {
        var configuration = WebSocketConfiguration()
        configuration.limits.receiveBuffer = 1000
        try await kind.withPair(configuration) { client, server in
            for number in 0..<50 { try await server.send(.text("\(number)" + String(repeating: ".", count: 900))) }
            let closing = Task { await server.close(CloseFrame(.normal)) }
            for number in 0..<50 {
                guard case .text(let text)? = try await client.message() else { throw CancellationError() }
                #expect(text.hasPrefix("\(number)."))
            }
            let end = try await client.receive()
            #expect(end == nil)
            #expect(await closing.value.isClean)
        }
    }

    /// A link in memory has no buffer of its own, so unread messages are lost with the sender.
    @Test(arguments: TransportKind.overSockets)
    func `a slow app gets the messages before the peer's close timeout`(_ kind: TransportKind) async throws {
        var configuration = WebSocketConfiguration()
        configuration.limits.receiveBuffer = 1000
        configuration.timeouts.close = .milliseconds(100)
        try await kind.withPair(configuration) { client, server in
            for number in 0..<50 { try await server.send(.text("\(number)" + String(repeating: ".", count: 900))) }
            _ = await server.close(CloseFrame(.normal))
            for number in 0..<50 {
                guard case .text(let text)? = try await client.message() else { throw CancellationError() }
                #expect(text.hasPrefix("\(number)."))
            }
        }
    }
}
