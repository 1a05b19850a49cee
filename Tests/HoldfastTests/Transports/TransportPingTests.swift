import Holdfast
import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct TransportPingTests {
    @Test(arguments: TransportKind.allCases)
    func `pings from either end are answered, even many at a time`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            #expect(try await client.ping(timeout: .seconds(20)) >= .zero)
            try await withThrowingTaskGroup(of: Duration.self) { group in
                for _ in 0..<20 {
                    group.addTask { try await client.ping(timeout: .seconds(20)) }
                    group.addTask { try await server.ping(timeout: .seconds(20)) }
                }
                for try await roundTrip in group { #expect(roundTrip >= .zero && roundTrip < .seconds(20)) }
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a ping may have an unlimited timeout`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, _ in
            for forever in [Duration.seconds(Int64.max), .seconds(Int64.max / 2), .seconds(Int64.max / 4), .seconds(1 << 40)] {
                _ = try await client.ping(timeout: forever)
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `pain 8: a pong never waits for the app`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            for number in 0..<3 { try await client.send(block(number)) }
            _ = try await client.ping(timeout: .seconds(20))  // No message was read before.
            for number in 0..<3 { #expect(try await server.message() == block(number)) }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `pain 9: a cancelled ping ends once, and the connection stays open`(_ kind: TransportKind) async throws {
        try await kind.withLink { client, server, link in
            link.stall()
            let pinging = Task { try await client.ping(timeout: .seconds(20)) }
            pinging.cancel()
            #expect(await failure { _ = try await pinging.value } == .cancelled)
            link.resume()
            _ = try await client.ping(timeout: .seconds(20))
            #expect(client.closeRecord == nil)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a ping without a pong times out, and the connection stays open`(_ kind: TransportKind) async throws {
        try await kind.withLink { client, server, link in
            link.stall()
            #expect(await failure { _ = try await client.ping(timeout: .milliseconds(50)) } == .timedOut)
            link.resume()
            _ = try await client.ping(timeout: .seconds(20))
            try await client.send(.text("alive"))
            #expect(try await server.message() == .text("alive"))
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `pings and pongs pass between the pieces of a message`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            let ticket = try await client.beginMessage()
            try await client.send(MessageChunk(kind: .text, bytes: Array("a".utf8), isLast: false), of: ticket)
            _ = try await client.ping(timeout: .seconds(20))
            _ = try await server.ping(timeout: .seconds(20))
            try await client.send(MessageChunk(kind: .text, bytes: Array("b".utf8), isLast: true), of: ticket)
            #expect(try await server.message() == .text("ab"))
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a ping on an ended connection fails at once`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            _ = await client.close(CloseFrame(.normal))
            #expect(await failure { _ = try await client.ping(timeout: .seconds(20)) } != nil)
            _ = await server.ended()
            #expect(await failure { _ = try await server.ping(timeout: .seconds(20)) } != nil)
        }
    }
}
