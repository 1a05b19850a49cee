import Holdfast
import HoldfastServer
import HoldfastTesting
import MetricsTestKit
import ScriptedPeers
import Testing

/// The traffic that a connection counts.
@Suite(.timeLimit(.minutes(1))) struct SightTrafficTests {
    @Test(arguments: TransportKind.allCases)
    func `messages and their bytes are counted at both ends`(_ kind: TransportKind) async throws {
        let messages: [Message] = [
            .text("hello"), .binary([]), .text("grüße"), .binary(Array(repeating: 7, count: 5000)), block(1), .binary([1]),
            .text(String(repeating: "long ", count: 40_000)),
        ]
        try await kind.withPair { client, server in
            var payload = 0
            for (number, message) in messages.enumerated() {
                try await client.send(message)
                #expect(try await server.message() == message)
                payload += message.byteCount
                #expect((server.traffic.messagesIn, server.traffic.payloadIn) == (number + 1, payload))
                try await server.send(message)
                #expect(try await client.message() == message)
                #expect((client.traffic.messagesIn, client.traffic.payloadIn) == (number + 1, payload))
                // The answer has arrived, so the question has left.
                #expect((client.traffic.messagesOut, client.traffic.payloadOut) == (number + 1, payload))
            }
            #expect((server.traffic.messagesOut, server.traffic.payloadOut) == (messages.count, payload))
            #expect(client.traffic.bytesOut == server.traffic.bytesIn && server.traffic.bytesOut == client.traffic.bytesIn)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `many messages at once are all counted`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            async let sending: Void = { for number in 0..<3000 { try await client.send(.text("\(number)")) } }()
            for _ in 0..<3000 { _ = try await server.message() }
            try await sending
            let payload = (0..<3000).reduce(0) { $0 + "\($1)".utf8.count }
            #expect((server.traffic.messagesIn, server.traffic.payloadIn) == (3000, payload))
            #expect(await Sight.eventually { client.traffic.messagesOut == 3000 && client.traffic.payloadOut == payload })
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a message in pieces counts as one message`(_ kind: TransportKind) async throws {
        try await kind.withPair(.with { $0.delivery = .chunks }) { client, server in
            let ticket = try await client.beginMessage()
            for number in 1...4 {
                let bytes = Array(repeating: UInt8(number), count: 1000)
                try await client.send(MessageChunk(kind: .binary, bytes: bytes, isLast: number == 4), of: ticket)
            }
            var received = 0
            while case .chunk(let chunk)? = try await server.receive() {
                received += chunk.bytes.count
                if chunk.isLast { break }
            }
            #expect(received == 4000)
            #expect((server.traffic.messagesIn, server.traffic.payloadIn) == (1, 4000))
            #expect(await Sight.eventually { (client.traffic.messagesOut, client.traffic.payloadOut) == (1, 4000) })
        }
    }
}

extension SocketTests {
    @Suite struct SightTrafficTests {
        @Test func `bytes are counted with the headers of frames and with control frames`() async throws {
            try await WebSocketServer.echo { $0.compression = nil }.withRunning { server in
                let client = try await WebSocketConnection.connect(to: server.url(), configuration: .with { $0.compression = nil })
                for size in [5, 125, 126, 65_535, 65_536] {
                    let before = client.traffic
                    try await client.send(.binary(Array(repeating: 1, count: size)))
                    _ = try await client.next()
                    let header = size < 126 ? 2 : size < 65_536 ? 4 : 10
                    let carried = client.traffic - before
                    #expect((carried.bytesOut, carried.bytesIn) == (header + 4 + size, header + size))
                }
                let before = client.traffic
                _ = try await client.ping()
                // A ping of the client has eight bytes.
                let carried = client.traffic - before
                #expect(carried.messagesOut == 0 && carried.messagesIn == 0)
                #expect(await Sight.eventually { client.traffic.bytesIn - before.bytesIn == client.traffic.bytesOut - before.bytesOut - 4 })
                #expect(client.traffic.bytesIn > before.bytesIn)
                await client.close()
            }
        }

        @Test func `compression changes the ratio but not the payload count`() async throws {
            try await WebSocketServer.echo().withRunning { server in
                let client = try await WebSocketConnection.connect(to: server.url())
                let text = String(repeating: "the same again, ", count: 2000)
                try await client.send(.text(text))
                try await client.expect(.text(text))
                #expect((client.traffic.payloadOut, client.traffic.payloadIn) == (text.utf8.count, text.utf8.count))
                #expect(try #require(client.traffic.compressionRatio) > 20)
                await client.close()
            }
        }

        @Test(arguments: [32, 5000, 300_000])
        func `an inline handler's messages are counted, and a long one counts once`(_ size: Int) async throws {
            let (metrics, log) = (TestMetrics(), InlineLog())
            let server = WebSocketServer.inline({ ($0.metrics, $0.compression) = (metrics, nil) }) { LoggedHandler.echo(log) }
            try await server.withRunning { server in
                let client = try await WebSocketConnection.connect(to: server.url(), configuration: .with { $0.compression = nil })
                for number in 0..<20 {
                    let message = Message.sample(.binary, size, number)
                    try await client.send(message)
                    try await client.expect(message)
                }
                let carried = client.traffic
                func count(_ name: String) -> Int64 { metrics.counterTotal(label: "holdfast_server_\(name)") }
                await client.close()
                #expect(await Sight.eventually { count("closes") == 1 })
                #expect((count("messages_in"), count("messages_out")) == (20, 20))
                #expect((count("payload_bytes_in"), count("payload_bytes_out")) == (Int64(20 * size), Int64(20 * size)))
                // The client's traffic was read before the close frame: 2 bytes of header, 4 of mask, 2 of code.
                #expect(count("bytes_in") == Int64(carried.bytesOut + 8))
                #expect(count("bytes_out") == Int64(carried.bytesIn + 4))
            }
        }
    }
}
