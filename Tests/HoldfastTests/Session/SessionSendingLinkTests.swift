import Holdfast
import HoldfastServer
import HoldfastTesting
import Testing

/// Outcomes of sends over a real connection that fails.
@Suite(.timeLimit(.minutes(2))) struct SessionSendingLinkTests {
    private func withLink(refusing: Bool = false, _ body: (FaultyLink, WebSocket) async throws -> Void) async throws {
        let server = WebSocketServer { connection, _ in
            do {
                for try await message in connection.messages { try await connection.send(message) }
            } catch {}  // The test cuts connections.
        }
        try await server.withRunning { running in
            let link = try await FaultyLink.start(to: running.port)
            if refusing { link.refuse() }
            let socket = WebSocket("ws://127.0.0.1:\(link.port)/") { options in
                options.sending = .queue(10)
                options.reconnect.backoff = Backoff(base: .milliseconds(10), jitter: .proportional(0))
                options.connection.compression = nil
                options.connection.timeouts.stall = .seconds(3600)
            }
            try await body(link, socket)
            await socket.close()
        }
    }

    @Test func `messages that wait for a refusing server are written once it accepts`() async throws {
        try await withLink(refusing: true) { link, socket in
            let receipts = [try await socket.send(tracked: .text("1")), try await socket.send(tracked: .text("2"))]
            link.welcome()
            for receipt in receipts { #expect(await receipt.outcome() == .written) }
            var echoes: [Message] = []
            for await case .message(let message) in socket.events {
                echoes.append(message)
                if echoes.count == 2 { break }
            }
            #expect(echoes == [.text("1"), .text("2")])
        }
    }

    @Test func `a partly sent message is unknown after a loss, and the socket continues`() async throws {
        try await withLink { link, socket in
            #expect(try await socket.send(tracked: .text("before")).outcome() == .written)
            link.stall()
            let receipt = try await socket.send(tracked: TransportWrittenTests.flood)
            let outcome = Task { await receipt.outcome() }
            link.cut()
            #expect(await outcome.value == .unknown)
            link.resume()
            #expect(try await socket.send(tracked: .text("after")).outcome() == .written)
        }
    }
}
