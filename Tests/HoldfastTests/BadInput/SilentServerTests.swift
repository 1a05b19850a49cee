import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// Servers that stop responding.
    @Suite struct SilentServerTests {
        @Test func `a close that the server never answers ends at the close timeout`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                #expect(try await peer.readClose().code == .normal)
                _ = await peer.readToEnd()
            } client: { url in
                let configuration = WebSocketConfiguration.with { $0.timeouts.close = .milliseconds(100) }
                let connection = try await WebSocketConnection.connect(to: url, configuration: configuration)
                let record = await connection.close()
                #expect(record == CloseRecord(sent: CloseFrame(.normal), closedFirst: .local))
                #expect(connection.closeRecord == record)
                #expect(await connection.end()?.code == .lost)
            }
        }

        @Test func `the client closes TCP when the server answers the close and keeps TCP open`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                let close = try await peer.readFrame()
                try await peer.send(close, to: .client)
                #expect(await peer.readToEnd().isEmpty)
            } client: { url in
                let connection = try await WebSocketConnection.connect(to: url)
                #expect(await connection.close().isClean)
                #expect(await connection.end() == nil)
            }
        }

        @Test func `a close completes though the server sends many messages before it answers`() async throws {
            let configuration = WebSocketConfiguration.with { ($0.limits.receiveBuffer, $0.compression) = (1024, nil) }
            let message = WireFrame(.binary, [UInt8](repeating: 1, count: 50_000))
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                // These are more bytes than the client reads ahead for an app that takes only one message.
                for _ in 1...200 { try await peer.send(message, to: .client) }
                try await peer.answerClose(to: .client)
            } client: { url in
                let connection = try await WebSocketConnection.connect(to: url, configuration: configuration)
                #expect(try await connection.next()?.byteCount == 50_000)
                #expect(await connection.close().isClean)
            }
        }

        @Test(arguments: [true, false])
        func `every message that a server sent before it closed is delivered to a slow app`(closes: Bool) async throws {
            let configuration = WebSocketConfiguration.with { ($0.limits.receiveBuffer, $0.compression) = (1024, nil) }
            let messages = (0..<200).map { WireFrame(.binary, [UInt8](repeating: UInt8($0), count: 1000)) }
            let (ends, ended) = AsyncStream.makeStream(of: Void.self)
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                let last = closes ? [WireFrame.close(.normal)] : []
                try await peer.send((messages + last).flatMap { $0.bytes(to: .client) })
                await peer.close()
                ended.yield()
            } client: { url in
                let connection = try await WebSocketConnection.connect(to: url, configuration: configuration)
                for await _ in ends { break }
                for message in messages { try await connection.expect(.binary(message.payload)) }
                #expect(await connection.end()?.code == (closes ? nil : .lost))
                #expect(connection.closeRecord?.received == (closes ? CloseFrame(.normal) : nil))
            }
        }

        @Test func `a server that stops reading blocks the sender, and the connection ends at the stall timeout`() async throws {
            let (ends, ended) = AsyncStream.makeStream(of: Void.self)
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                try await peer.stopReading()
                for await _ in ends { break }
            } client: { url in
                let configuration = WebSocketConfiguration.with {
                    ($0.timeouts.stall, $0.timeouts.pingInterval) = (.milliseconds(300), nil)
                }
                let connection = try await WebSocketConnection.connect(to: url, configuration: configuration)
                var sent = 0
                let error = await #expect(throws: WebSocketError.self) {
                    while true {
                        try await connection.send(.binary([UInt8](repeating: 0, count: 1 << 20)))
                        sent += 1
                    }
                }
                #expect(error?.code == .stalled)
                #expect(error?.isRetryable == true)
                // The system's buffers take some messages.
                #expect(sent < 64)
                #expect(await connection.end()?.code == .stalled)
                ended.yield()
            }
        }

        @Test func `a send that waits for its turn can be cancelled, and nothing of it is sent`() async throws {
            let (pieces, more) = AsyncStream.makeStream(of: [UInt8].self)
            let (begins, begun) = AsyncStream.makeStream(of: Void.self)
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                #expect(try await peer.readFrame() == WireFrame(.binary, [1], isFinal: false))
                begun.yield()
                #expect(try await peer.readFrame() == WireFrame(.continuation))
                try await peer.answerClose(to: .client)
            } client: { url in
                try await WebSocketConnection.withConnection(to: url) { connection in
                    async let streaming: Void = connection.send(.binary, pieces: pieces)
                    more.yield([1])
                    for await _ in begins { break }
                    let sending = Task { try await connection.send(.binary([2])) }
                    sending.cancel()
                    #expect((await sending.result.failure as? WebSocketError)?.code == .cancelled)
                    more.finish()
                    try await streaming
                }
            }
        }
    }
}
