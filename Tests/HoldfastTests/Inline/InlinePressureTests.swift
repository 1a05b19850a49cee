import Holdfast
import HoldfastServer
import WebSocketRuntime
import ScriptedPeers
import Testing

extension SocketTests {
    /// Peers that do not keep up with the messages of inline handlers.
    @Suite struct InlinePressureTests {
        /// More bytes than the system's sockets buffer between two sides.
        private static let slack = 24 << 20
        private static let block = [UInt8](repeating: 7, count: 64 << 10)
        private let log = InlineLog()

        /// Connects a peer that does not read.
        private func openWithoutReading(_ server: RunningServer) async throws -> ScriptedPeer {
            let peer = try await ScriptedPeer.connect(to: server.port, buffer: 64 << 10)
            #expect(try await peer.upgrade().status == 101)
            try await peer.stopReading()
            return peer
        }

        @Test(arguments: [100, 64 << 10]) func `a server stops reading a peer that does not read its replies`(size: Int) async throws {
            let server = WebSocketServer.inline {
                ($0.slowConsumers, $0.compression) = (.disconnect(after: .milliseconds(300)), nil)
            } _: { [log] in
                LoggedHandler(log) { kind, bytes, socket in
                    log.add(.received(.binary(Array(repeating: 0, count: bytes.byteCount))))
                    if !socket.send(kind, bytes) { log.fault("an echo is refused") }
                }
            }
            try await server.withRunning { server in
                let peer = try await openWithoutReading(server)
                let frames = Array(
                    repeatElement(WireFrame(.binary, Array(repeating: 7, count: size)).bytes(to: .server), count: 64 << 10 / size))
                // The flood ends when the server drops the peer.
                let flood = Task { while (try? await peer.send(Array(frames.joined()))) != nil {} }
                guard case .failed(let code, _)? = await log.end() else { throw ScriptedPeer.Ended() }
                #expect(code == .stalled)
                await flood.value
                #expect(log.receivedBytes < Self.slack)
            }
            await log.waitUntilFreed()
            #expect(log.faults == [])
        }

        @Test func `a peer that reads late gets every reply, and all of its messages are read`() async throws {
            let count = 800
            let server = WebSocketServer.inline {
                ($0.slowConsumers, $0.compression) = (.wait, nil)
            } _: { [log] in
                LoggedHandler.echo(log)
            }
            try await server.withRunning { server in
                let peer = try await openWithoutReading(server)
                let flood = Task {
                    for number in 0..<count {
                        try await peer.send(WireFrame(.binary, [UInt8(number & 255)] + Self.block.dropFirst()), to: .server)
                    }
                }
                for _ in 1...10 { try await peer.take(atLeast: 1 << 20) }
                try await peer.startReading()
                for number in 0..<count {
                    let frame = try await peer.readFrame()
                    #expect(frame.payload.count == Self.block.count && frame.payload.first == UInt8(number & 255), "reply \(number)")
                }
                try await flood.value
                try await peer.send(.close(.normal), to: .server)
                #expect(try await peer.readClose().code == .normal)
            }
            #expect(log.faults == [])
        }

        /// Sends messages of a handler until one is refused, and counts them.
        private final class SendCounter: Sendable {
            private let count = LockedValue(0)
            var sent: Int { count.withLockedValue(\.self) }

            /// Sends until a message is refused or a limit is reached; returns true if one was refused.
            func fill(_ socket: InlineSocket, with bytes: [UInt8]) -> Bool {
                let limit = 4 * InlinePressureTests.slack / bytes.count
                while sent < limit {
                    guard socket.send(.binary(bytes)) else { return true }
                    count.withLockedValue { $0 += 1 }
                }
                return false
            }
        }

        @Test(arguments: [500, 10_000, 64 << 10], [1000, 64 << 10])
        func `a message above the send buffer is refused, and writable is called later`(size: Int, sendBuffer: Int) async throws {
            let (counter, bytes) = (SendCounter(), [UInt8](repeating: 1, count: size))
            let server = WebSocketServer.inline {
                ($0.slowConsumers, $0.compression, $0.limits.sendBuffer) = (.wait, nil, sendBuffer)
            } _: { [log] in
                LoggedHandler(log) { socket in
                    log.note(counter.fill(socket, with: bytes) ? "refused" : "never refused")
                } writable: { socket in
                    socket.send(.text("room"))
                } received: { _, _, _ in
                }
            }
            try await server.withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port, buffer: 64 << 10)
                try await peer.stopReading()
                try await peer.send(try ScriptedPeer.upgradeRequest())
                await log.expect(.opened)
                await log.expect(.note("refused"))
                #expect(counter.sent * size < Self.slack)
                try await peer.startReading()
                #expect(try await peer.readResponse().status == 101)
                for _ in 0..<counter.sent { #expect(try await peer.readFrame().payload.count == size) }
                #expect(try await peer.readFrame() == .text("room"))
                await log.expect(.writable)
            }
            #expect(log.faults == [])
        }

        @Test(arguments: [500, 10_000, 64 << 10])
        func `messages sent through run are refused as well when the send buffer is full`(size: Int) async throws {
            let limit = 2 * Self.slack / size
            let (resumptions, resume) = AsyncStream.makeStream(of: Void.self)
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                try await peer.stopReading()
                for await _ in resumptions { break }
                try await peer.startReading()
                while true {
                    let frame = try await peer.readFrame()
                    if frame.opcode != .binary { break }
                    #expect(frame.payload.count == size)
                }
                try await peer.answerClose(to: .client)
            } client: { url in
                let configuration = WebSocketConfiguration.with { ($0.compression, $0.timeouts.pingInterval) = (nil, nil) }
                let connection = try await InlineConnection.connect(to: url, configuration: configuration) { [log] in
                    LoggedHandler(log, writable: { $0.send(.text("room")) }, received: { _, _, _ in })
                }
                await log.expect(.opened)
                let message = Message.sample(.binary, size)
                var (sent, isRefused) = (0, false)
                while !isRefused, sent < limit {
                    isRefused = await withCheckedContinuation { continuation in
                        connection.run { continuation.resume(returning: !$0.send(message)) }
                    }
                    sent += 1
                }
                #expect(sent * size < Self.slack)
                resume.yield()
                try #require(isRefused)
                await log.expect(.writable)
                #expect(await connection.close().isClean)
            }
            #expect(log.faults == [])
        }

        /// A long message is written in parts, and the handler may become writable between them; its new messages must come after it.
        @Test(arguments: [1000, 64 << 10])
        func `messages that a handler sends when writable do not interrupt a long message`(sendBuffer: Int) async throws {
            let (long, short) = (Message.sample(.binary, 3 << 20), Message.sample(.text, 10_000))
            let server = WebSocketServer.inline {
                ($0.slowConsumers, $0.compression, $0.limits.sendBuffer) = (.wait, nil, sendBuffer)
                // On a busy machine the peer reads for longer than a ping, or the close, may take.
                ($0.timeouts.pingInterval, $0.timeouts.close) = (nil, .seconds(120))
            } _: { [log] in
                var longCount = 0
                func fill(_ socket: InlineSocket) { while socket.send(short) {} }
                return LoggedHandler(log) { socket in
                    fill(socket)
                } writable: { socket in
                    for _ in 1...3 where socket.send(long) { longCount += 1 }
                    if longCount < 20 { fill(socket) } else { socket.close() }
                } received: { _, _, _ in
                }
            }
            try await server.withRunning { server in
                // It stops before the handshake, because until then it would read all that the handler sends.
                let peer = try await ScriptedPeer.connect(to: server.port, buffer: 64 << 10)
                try await peer.stopReading()
                try await peer.send(try ScriptedPeer.upgradeRequest())
                await log.expect(.opened)
                try await peer.startReading()
                #expect(try await peer.readResponse().status == 101)
                var longCount = 0
                while true {
                    let frame = try await peer.readFrame()
                    if frame.opcode == .close { break }
                    let isWhole = .binary(frame.payload) == long || .text(String(decoding: frame.payload, as: UTF8.self)) == short
                    guard isWhole, frame.isFinal else { throw ScriptedPeer.Ended() }
                    if frame.opcode == .binary { longCount += 1 }
                }
                #expect(longCount >= 20)
                try await peer.send(.close(.normal), to: .server)
            }
            #expect(log.faults == [])
        }

        @Test func `a peer that reads nothing and disconnects ends the connection`() async throws {
            let server = WebSocketServer.inline {
                ($0.slowConsumers, $0.compression, $0.timeouts.pingInterval) = (.wait, nil, nil)
            } _: { [log] in
                LoggedHandler(log) { _, _, socket in
                    // These messages exceed the system's buffers, so the next one has to wait.
                    for _ in 0..<(2 * Self.slack / Self.block.count) { socket.send(.binary(Self.block)) }
                    log.note("full")
                }
            }
            try await server.withRunning { server in
                let peer = try await openWithoutReading(server)
                await log.expect(.opened)
                try await peer.send((0..<10).flatMap { WireFrame.text("\($0)").bytes(to: .server) })
                await log.expect(.note("full"))
                await peer.close()
                guard case .failed(let code, _)? = await log.end() else { throw ScriptedPeer.Ended() }
                #expect(code == .lost)
            }
            await log.waitUntilFreed()
            #expect(log.faults == [])
        }

        @Test func `a close of a blocked side ends at its timeout and frees the handler`() async throws {
            let server = WebSocketServer.inline {
                ($0.slowConsumers, $0.compression, $0.timeouts.pingInterval) = (.wait, nil, nil)
                $0.timeouts.close = .milliseconds(100)
            } _: { [log] in
                LoggedHandler(log) { _, _, socket in
                    for _ in 0..<(2 * Self.slack / Self.block.count) { socket.send(.binary(Self.block)) }
                    socket.close()
                }
            }
            try await server.withRunning { server in
                let peer = try await openWithoutReading(server)
                try await peer.send((0..<10).flatMap { WireFrame.text("\($0)").bytes(to: .server) })
                guard case .failed(_, let record)? = await log.end() else { throw ScriptedPeer.Ended() }
                #expect(record?.isClean == false && record?.closedFirst == .local)
                await log.waitUntilFreed()
            }
            #expect(log.faults == [])
        }
    }
}
