import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// Pings, pongs and close frames: problems that cost users of other libraries days.
    @Suite struct ControlFramePainsTests {
        @Test func `pain 1: control frames are never compressed`() async throws {
            let words = Array("compress me, compress me, compress me, compress me".utf8)
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade(["Sec-WebSocket-Extensions": "permessage-deflate"])
                try await peer.send(WireFrame(.ping, words), to: .client)
                var seen: Set<Opcode> = []
                while !seen.contains(.close) {
                    let frame = try await peer.readFrame()
                    #expect(frame.isCompressed == (frame.opcode == .text))
                    seen.insert(frame.opcode)
                    switch frame.opcode {
                    case .ping: try await peer.send(WireFrame(.pong, frame.payload), to: .client)
                    case .pong: #expect(frame.payload == words)
                    case .close: try await peer.send(frame, to: .client)
                    default: break
                    }
                }
                #expect(seen == [.pong, .text, .ping, .close])
            } client: { url in
                let configuration = WebSocketConfiguration.with { $0.compression = CompressionOptions(threshold: 0) }
                let connection = try await WebSocketConnection.connect(to: url, configuration: configuration)
                #expect(connection.compression != nil)
                try await connection.send(.text(String(decoding: words, as: UTF8.self)))
                _ = try await connection.ping()
                #expect(await connection.close(reason: String(decoding: words, as: UTF8.self)).isClean)
            }
        }

        @Test func `pain 8: a pong never waits for the app`() async throws {
            let (pongs, ponged) = AsyncStream.makeStream(of: Void.self)
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                for number in 0..<5 as Range<UInt8> {
                    try await peer.send(.text("nobody takes this"), to: .client)
                    try await peer.send(WireFrame(.ping, [number]), to: .client)
                    #expect(try await peer.readFrame() == WireFrame(.pong, [number]))
                }
                ponged.yield()
                try await peer.answerClose(to: .client)
            } client: { url in
                let connection = try await WebSocketConnection.connect(to: url)
                // The app does nothing until the peer has its pongs.
                for await _ in pongs { break }
                #expect(await connection.close().isClean)
            }
        }

        @Test func `pain 9: a ping that is answered twice ends once`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                for _ in 1...3 {
                    let ping = try await peer.readFrame()
                    #expect(ping.opcode == .ping)
                    for _ in 1...2 { try await peer.send(WireFrame(.pong, ping.payload), to: .client) }
                }
                try await peer.answerClose(to: .client)
            } client: { url in
                try await WebSocketConnection.withConnection(to: url) { connection in
                    for _ in 1...3 {
                        let roundTrip = try await connection.ping()
                        #expect(roundTrip > .zero)
                    }
                }
            }
        }

        @Test func `pain 9: one pong ends all the pings before it, each once`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                var last = WireFrame(.ping)
                for _ in 1...10 { last = try await peer.readFrame() }
                try await peer.send(WireFrame(.pong, last.payload), to: .client)
                try await peer.answerClose(to: .client)
            } client: { url in
                try await WebSocketConnection.withConnection(to: url) { connection in
                    try await withThrowingTaskGroup(of: Duration.self) { group in
                        for _ in 1...10 { group.addTask { try await connection.ping() } }
                        let count = try await group.reduce(0) { count, _ in count + 1 }
                        #expect(count == 10)
                    }
                }
            }
        }

        @Test func `pain 9: a ping that is never answered times out, and the connection stays open`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                #expect(try await peer.readFrame().opcode == .ping)
                let message = try await peer.readFrame()
                try await peer.send(message, to: .client)
                try await peer.answerClose(to: .client)
            } client: { url in
                try await WebSocketConnection.withConnection(to: url) { connection in
                    let error = await #expect(throws: WebSocketError.self) { try await connection.ping(timeout: .milliseconds(50)) }
                    #expect(error?.code == .timedOut)
                    try await connection.send(.text("still here"))
                    try await connection.expect(.text("still here"))
                }
            }
        }

        @Test func `pain 9: a ping ends when the link is lost or its task is cancelled`() async throws {
            let (pings, pinged) = AsyncStream.makeStream(of: Void.self)
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                for _ in 1...2 { #expect(try await peer.readFrame().opcode == .ping) }
                pinged.yield()
                _ = try await peer.readFrame()
            } client: { url in
                let connection = try await WebSocketConnection.connect(to: url)
                let (one, other) = (Task { try await connection.ping() }, Task { try await connection.ping() })
                for await _ in pings { break }
                one.cancel()
                #expect((await one.result.failure as? WebSocketError)?.code == .cancelled)
                #expect(connection.closeRecord == nil)
                try await connection.send(.text("hang up"))
                #expect((await other.result.failure as? WebSocketError)?.code == .lost)
                #expect(await connection.end()?.code == .lost)
            }
        }

        @Test(arguments: [3000, 3999, 4000, 4321, 4999] as [UInt16])
        func `pain 11: close codes of all kinds pass unchanged in both directions`(code: UInt16) async throws {
            let code = CloseCode(rawValue: code)
            let (records, recorded) = AsyncStream.makeStream(of: CloseRecord.self)
            let server = WebSocketServer { connection, request in
                if request.path == "/server-first" {
                    recorded.yield(await connection.close(code: code, reason: "as agreed"))
                } else {
                    _ = await connection.end()
                    if let record = connection.closeRecord { recorded.yield(record) }
                }
            }
            try await server.withRunning { server in
                var record = records.makeAsyncIterator()

                var connection = try await WebSocketConnection.connect(to: server.url("/client-first"))
                let sent = await connection.close(code: code, reason: "as agreed")
                #expect(sent.sent == CloseFrame(code, reason: "as agreed"))
                #expect((sent.received?.code, sent.closedFirst, sent.isClean) == (code, .local, true))
                let seen = await record.next()
                #expect(seen?.received == CloseFrame(code, reason: "as agreed"))
                #expect(seen?.closedFirst == .remote)

                connection = try await WebSocketConnection.connect(to: server.url("/server-first"))
                let error = await connection.end()
                #expect(error?.code == .closed)
                #expect(error?.closeRecord?.received == CloseFrame(code, reason: "as agreed"))
                #expect(error?.closeRecord?.closedFirst == .remote)
                #expect(connection.closeRecord == error?.closeRecord)
                #expect(await record.next()?.received?.code == code)
            }
        }

        @Test func `pain 12: an unsolicited pong is ignored`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                for payload in [[], [1], [UInt8](repeating: 0, count: 8), [UInt8](repeating: 255, count: 125)] {
                    try await peer.send(WireFrame(.pong, payload), to: .client)
                }
                try await peer.send(.text("still here"), to: .client)
                #expect(try await peer.answerClose(to: .client).code == .normal)
            } client: { url in
                try await WebSocketConnection.withConnection(to: url) { connection in
                    try await connection.expect(.text("still here"))
                }
            }
        }

        @Test func `pain 12: TCP may split frames anywhere`() async throws {
            let large = [UInt8](repeating: 9, count: 300)
            let frames = [
                WireFrame.text("Hëllo, wörld"), WireFrame(.ping, [1, 2]), WireFrame(.binary, large, isFinal: false),
                WireFrame(.continuation, [8]), WireFrame(.text),
            ]
            try await withScriptedServer { peer in
                let request = try await peer.readRequest()
                let answer = try ResponseHead(status: 101, headers: ScriptedPeer.acceptance(of: request)).encoded()
                try await peer.sendByteByByte(answer + frames.flatMap { $0.bytes(to: .client) })
                #expect(try await peer.answerClose(to: .client).code == .normal)
            } client: { url in
                try await WebSocketConnection.withConnection(to: url) { connection in
                    for message in [.text("Hëllo, wörld"), .binary(large + [8]), .text("")] as [Message] {
                        try await connection.expect(message)
                    }
                }
            }
        }
    }
}

extension Result {
    var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
