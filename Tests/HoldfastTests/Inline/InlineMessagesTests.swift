import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing
import WebSocketNIO

extension SocketTests {
    /// Messages to and from inline handlers.
    @Suite struct InlineMessagesTests {
        static let sizes = [0, 1, 125, 126, 4096, 16_383, 16_384, 65_535, 65_536, 1 << 20, 3 << 20]
        private static let limit = 4 << 20
        private let log = InlineLog()

        private func server(isCompressed: Bool = false) -> WebSocketServer {
            .inline {
                $0.limits.message = Self.limit
                $0.compression = isCompressed ? CompressionOptions() : nil
            } _: { [log] in
                LoggedHandler.echo(log)
            }
        }

        private func configuration(isCompressed: Bool = false) -> WebSocketConfiguration {
            .with {
                $0.limits.message = Self.limit
                $0.compression = isCompressed ? CompressionOptions() : nil
            }
        }

        @Test(arguments: [false, true], [MessageKind.text, .binary])
        func `an inline server echoes messages of every size`(isCompressed: Bool, kind: MessageKind) async throws {
            try await server(isCompressed: isCompressed).withRunning { server in
                let configuration = configuration(isCompressed: isCompressed)
                try await WebSocketConnection.withConnection(to: server.url(), configuration: configuration) { connection in
                    #expect((connection.compression != nil) == isCompressed)
                    for size in Self.sizes {
                        let message = Message.sample(kind, size)
                        try await connection.send(message)
                        try await connection.expect(message)
                    }
                }
            }
            #expect(log.faults == [])
        }

        @Test(arguments: [false, true], [MessageKind.text, .binary])
        func `a shared message arrives whole and in order with the socket's own messages`(
            isCompressed: Bool, kind: MessageKind
        ) async throws {
            let server = WebSocketServer.inline {
                $0.limits.message = Self.limit
                $0.compression = isCompressed ? CompressionOptions() : nil
            } _: { [log] in
                LoggedHandler(log) { kind, bytes, socket in
                    let shared = SharedMessage(kind, bytes.withUnsafeBytes { Array($0) })
                    let isLong = bytes.byteCount > 65_536
                    let sent = [socket.send(shared), isLong || (socket.send(.text("own")) && socket.send(shared) && socket.send(shared))]
                    if sent != [true, true] { log.fault("\(bytes.byteCount) bytes are refused") }
                }
            }
            try await server.withRunning { server in
                let configuration = configuration(isCompressed: isCompressed)
                try await WebSocketConnection.withConnection(to: server.url(), configuration: configuration) { connection in
                    for size in Self.sizes {
                        let message = Message.sample(kind, size)
                        try await connection.send(message)
                        let own = size > 65_536 ? [] : [Message.text("own"), message, message]
                        for expected in [message] + own { try await connection.expect(expected) }
                    }
                }
            }
            #expect(log.faults == [])
        }

        @Test(arguments: [false, true], [MessageKind.text, .binary])
        func `an inline client gets echoes of messages of every size`(isCompressed: Bool, kind: MessageKind) async throws {
            let echo = WebSocketServer.echo { $0.limits.message = Self.limit }
            try await echo.withRunning { server in
                let configuration = configuration(isCompressed: isCompressed)
                let connection = try await InlineConnection.connect(to: server.url(), configuration: configuration) { [log] in
                    LoggedHandler.sink(log)
                }
                await log.expect(.opened)
                for size in Self.sizes {
                    let message = Message.sample(kind, size)
                    connection.run { [log] in if !$0.send(message) { log.fault("\(size) bytes are refused") } }
                    await log.expect(.received(message))
                }
                #expect(await connection.close().isClean)
            }
            #expect(log.faults == [])
        }

        @Test func `many messages of all sizes stay in order, and none is lost`() async throws {
            let messages = (0..<3000).map { number in
                let size = [0, 7, 64, 125, 126, 1000, 5000, 20_000][number % 8] + (number % 500 == 0 ? 200_000 : 0)
                return Message.sample(number.isMultiple(of: 3) ? .text : .binary, size, number)
            }
            try await server().withRunning { server in
                try await WebSocketConnection.withConnection(to: server.url(), configuration: configuration()) { connection in
                    async let sending: Void = {
                        for message in messages { try await connection.send(message) }
                    }()
                    var count = 0
                    for try await message in connection.messages {
                        guard message == messages[count] else { throw Mismatch(number: count) }
                        count += 1
                        if count == messages.count { break }
                    }
                    try await sending
                }
            }
            #expect(log.faults == [])
        }

        struct Mismatch: Error { let number: Int }

        @Test(arguments: [1, 100, 20_000, 100_000]) func `two inline sides pass a message back and forth`(size: Int) async throws {
            let (count, message) = (200, Message.sample(.binary, size))
            try await server().withRunning { server in
                let connection = try await InlineConnection.connect(to: server.url(), configuration: configuration()) { [log] in
                    var rounds = 0
                    return LoggedHandler(log) {
                        $0.send(message)
                    } received: { kind, bytes, socket in
                        rounds += 1
                        if Message(kind, bytes) != message { log.fault("round \(rounds) has another message") }
                        if rounds < count { socket.send(kind, bytes) } else { socket.close(code: CloseCode(rawValue: 4000)) }
                    }
                }
                #expect(try await connection.ended().get().received?.code == CloseCode(rawValue: 4000))
            }
            #expect(log.faults == [])
        }

        @Test func `fragments with pings between them become whole messages`() async throws {
            let long = [UInt8](repeating: 0x61, count: 30_000)
            let frames = [
                WireFrame(.text, Array("gr".utf8), isFinal: false), WireFrame(.ping, [1]), WireFrame(.continuation, [0xC3], isFinal: false),
                WireFrame(.continuation, [0xBC]), .text("whole"), WireFrame(.binary, [], isFinal: false), WireFrame(.continuation, []),
                WireFrame(.text, long, isFinal: false), WireFrame(.continuation, long),
            ]
            let answers = [
                WireFrame(.pong, [1]), .text("grü"), .text("whole"), WireFrame(.binary), WireFrame(.text, long + long),
            ]
            try await server().withRunning { server in
                let bytes = frames.flatMap { $0.bytes(to: .server) }
                for size in [bytes.count, 1000, 7] {
                    let peer = try await ScriptedPeer.connect(to: server.port)
                    #expect(try await peer.upgrade().status == 101)
                    for start in stride(from: 0, to: bytes.count, by: size) {
                        try await peer.send(Array(bytes[start..<min(start + size, bytes.count)]))
                    }
                    for answer in answers { #expect(try await peer.readFrame() == answer, "pieces of \(size)") }
                    try await peer.send(.close(.normal), to: .server)
                    #expect(try await peer.readClose().code == .normal)
                }
            }
            #expect(log.faults == [])
        }

        @Test func `compressed messages, whole and in fragments, are delivered inflated`() async throws {
            let deflater = Deflater(parameters: DeflateParameters(), role: .client)
            func compressed(_ text: String) -> [UInt8] {
                var output: [UInt8] = []
                Array(text.utf8).withUnsafeBytes { deflater.deflate($0, isLast: true, into: &output) }
                return output
            }
            let texts = ["hello", String(repeating: "again and ", count: 5000), "", "hello"]
            var frames: [WireFrame] = []
            for text in texts {
                let bytes = compressed(text)
                frames.append(WireFrame(.text, bytes, isCompressed: true))
                frames.append(.text("plain"))
            }
            let last = compressed("in three pieces")
            frames.append(WireFrame(.text, Array(last.prefix(3)), isFinal: false, isCompressed: true))
            frames.append(WireFrame(.continuation, [], isFinal: false))
            frames.append(WireFrame(.continuation, Array(last.dropFirst(3))))
            let server = WebSocketServer.inline {
                $0.compression = CompressionOptions()
            } _: { [log] in
                LoggedHandler.sink(log)
            }
            try await server.withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                #expect(try await peer.upgrade(headers: ["Sec-WebSocket-Extensions": "permessage-deflate"]).status == 101)
                await log.expect(.opened)
                try await peer.send(frames.flatMap { $0.bytes(to: .server) })
                for text in texts {
                    await log.expect(.received(.text(text)))
                    await log.expect(.received(.text("plain")))
                }
                await log.expect(.received(.text("in three pieces")))
            }
            #expect(log.faults == [])
        }

        @Test func `messages sent while the connection opens arrive first`() async throws {
            let server = WebSocketServer.inline { [log] in
                LoggedHandler(log) { socket in
                    for number in 1...3 { socket.send(.text("welcome \(number)")) }
                } received: { kind, bytes, socket in
                    socket.send(kind, bytes)
                }
            }
            try await server.withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                // The first message arrives together with the request.
                try await peer.send(try ScriptedPeer.upgradeRequest() + WireFrame.text("hello").bytes(to: .server))
                #expect(try await peer.readResponse().status == 101)
                for number in 1...3 { #expect(try await peer.readFrame() == .text("welcome \(number)")) }
                #expect(try await peer.readFrame() == .text("hello"))
            }
            #expect(log.faults == [])
        }

        @Test func `a message that arrives with the answer is delivered to an inline client`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade(then: WireFrame.text("early").bytes(to: .client))
                #expect(try await peer.answerClose(to: .client).code == .normal)
            } client: { url in
                let connection = try await InlineConnection.connect(to: url) { [log] in LoggedHandler.sink(log) }
                await log.expect(.opened)
                await log.expect(.received(.text("early")))
                #expect(await connection.close().isClean)
            }
            #expect(log.faults == [])
        }

        /// The server echoes a long message without a copy, so later reads must not change the bytes that wait to be written.
        @Test func `echoed long messages keep their bytes while more is read`() async throws {
            let messages = (0..<400).map { Message.sample(.binary, 16_384 + $0 * 37, $0) }
            try await server().withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                #expect(try await peer.upgrade().status == 101)
                let frames = messages.map { message -> [UInt8] in
                    guard case .binary(let bytes) = message else { return [] }
                    return bytes
                }
                let sending = Task { for frame in frames { try await peer.send(WireFrame(.binary, frame), to: .server) } }
                for (number, frame) in frames.enumerated() {
                    guard try await peer.readFrame() == WireFrame(.binary, frame) else { throw Mismatch(number: number) }
                }
                try await sending.value
            }
            #expect(log.faults == [])
        }
    }
}
