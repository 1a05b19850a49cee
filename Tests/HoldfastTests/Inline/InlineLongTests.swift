import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// Frames that arrive in several reads, for inline handlers.
    @Suite struct InlineLongTests {
        private static let limit = 4 << 20
        private let log = InlineLog()

        private func server(
            limit: Int = limit, _ make: @escaping @Sendable (InlineLog) -> LoggedHandler = { .echo($0) }
        ) -> WebSocketServer {
            .inline {
                ($0.limits.message, $0.compression) = (limit, nil)
            } _: { [log] in
                make(log)
            }
        }

        /// A frame that differs from its neighbours.
        private static func frame(_ size: Int, _ number: Int) -> WireFrame {
            switch Message.sample(number.isMultiple(of: 3) ? .text : .binary, size, number) {
            case .text(let text): .text(text)
            case .binary(let bytes): WireFrame(.binary, bytes)
            }
        }

        @Test(arguments: [4099, 65_536, 300_000, 5_000_000])
        func `long messages are echoed whole and in order, in any segments and between pings`(piece: Int) async throws {
            let sizes = [
                100_000, 5, 16_370, 16_384, 1 << 20, 1 << 20, 1 << 20, 0, 30, 3 << 20, 70_000, 65_536, 65_536, 65_536, 65_536, 262_130,
                262_144, 262_144, 900_000, 20, 4 << 20, 500_000, 1,
            ]
            try await server().withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                #expect(try await peer.upgrade().status == 101)
                let frames = sizes.enumerated().map { Self.frame($1, $0) }
                var bytes: [UInt8] = []
                for (number, frame) in frames.enumerated() {
                    bytes += frame.bytes(to: .server) + WireFrame(.ping, [UInt8(number)]).bytes(to: .server)
                }
                let sending = Task { [bytes] in
                    for start in stride(from: 0, to: bytes.count, by: piece) {
                        try await peer.send(Array(bytes[start..<min(start + piece, bytes.count)]))
                    }
                }
                var (pongs, echoes) = (0, 0)
                while pongs < frames.count || echoes < frames.count {
                    let frame = try await peer.readFrame()
                    if frame.opcode == .pong {
                        pongs += 1
                    } else {
                        #expect(frame == frames[echoes], "message \(echoes)")
                        echoes += 1
                    }
                }
                try await sending.value
                try await peer.send(.close(.normal), to: .server)
                #expect(try await peer.readClose().code == .normal)
            }
            #expect(log.faults == [])
        }

        @Test func `long messages for a peer that reads late wait, and none is lost`() async throws {
            let count = 40
            try await server().withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port, buffer: 64 << 10)
                #expect(try await peer.upgrade().status == 101)
                try await peer.stopReading()
                let sending = Task {
                    for number in 0..<count { try await peer.send(Self.frame(1 << 20, number), to: .server) }
                }
                try await peer.take(atLeast: 1 << 20)
                try await peer.startReading()
                for number in 0..<count { #expect(try await peer.readFrame() == Self.frame(1 << 20, number), "message \(number)") }
                try await sending.value
            }
            #expect(log.faults == [])
        }

        @Test(arguments: [20_000, 1_000_000]) func `a connection that breaks within a long message ends, and the part is not delivered`(
            sent: Int
        ) async throws {
            try await server({ .sink($0) }).withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                #expect(try await peer.upgrade().status == 101)
                await log.expect(.opened)
                try await peer.send(WireFrame.text("before").bytes(to: .server) + Self.frame(2 << 20, 1).bytes(to: .server).prefix(sent))
                await log.expect(.received(.text("before")))
                await peer.close()
                guard case .failed? = await log.next() else { throw ScriptedPeer.Ended() }
                await log.waitUntilFreed()
            }
            #expect(log.faults == [])
        }

        @Test(arguments: [10, 300, 1500]) func `a long message may begin in the read that ends a client's handshake`(early: Int)
            async throws
        {
            let frame = WireFrame(.binary, (0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
            let bytes = frame.bytes(to: .client)
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade(then: Array(bytes.prefix(early)))
                #expect(try await peer.readFrame() == .text("go on"))
                try await peer.send(Array(bytes.dropFirst(early)))
                try await peer.answerClose(to: .client)
            } client: { url in
                let connection = try await InlineConnection.connect(to: url) { [log] in LoggedHandler.sink(log) }
                await log.expect(.opened)
                connection.run { $0.send(.text("go on")) }
                let event = await log.next()
                // A failed expectation of the whole value would print 100 kB.
                let isWhole = event == .received(.binary(frame.payload))
                #expect(isWhole)
                connection.run { $0.close() }
                _ = await connection.ended()
            }
            #expect(log.faults == [])
        }

        @Test func `a long text that is not UTF-8 is a violation`() async throws {
            try await server({ .sink($0) }).withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                #expect(try await peer.upgrade().status == 101)
                try await peer.send(WireFrame(.text, [UInt8](repeating: 0x61, count: 1 << 20) + [0xFF]), to: .server)
                #expect(try await peer.readClose().code == .invalidPayload)
            }
            #expect(log.faults == [])
        }

        @Test func `a frame over the limit is refused by its header alone`() async throws {
            try await server(limit: 1 << 20, { .sink($0) }).withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                #expect(try await peer.upgrade().status == 101)
                try await peer.send(Array(WireFrame(.binary, [UInt8](repeating: 0, count: 1 << 20 + 1)).bytes(to: .server).prefix(20_000)))
                #expect(try await peer.readClose().code == .messageTooBig)
            }
            #expect(log.faults == [])
        }

        @Test func `announcing long messages allocates no memory for them`() async throws {
            try await server(limit: 64 << 20, { .sink($0) }).withRunning { server in
                let frame = WireFrame(.binary, [UInt8](repeating: 0, count: 64 << 20)).bytes(to: .server).prefix(20_000)
                guard let before = residentMemory() else { return }
                var peers: [ScriptedPeer] = []
                for _ in 0..<100 {
                    let peer = try await ScriptedPeer.connect(to: server.port)
                    #expect(try await peer.upgrade().status == 101)
                    await log.expect(.opened)
                    try await peer.send(WireFrame.text("before").bytes(to: .server) + frame)
                    await log.expect(.received(.text("before")))
                    peers.append(peer)
                }
                #expect(try #require(residentMemory()) - before < 64 << 20)
            }
        }
    }
}
