import Foundation
import Holdfast
import HoldfastServer
import NIOCore
import ScriptedPeers
import Testing

extension SocketTests {
    /// How connections with inline handlers end: `ended` is called once and last.
    @Suite struct InlineEndTests {
        private let log = InlineLog()

        private func sink(_ configure: (inout WebSocketServerConfiguration) -> Void = { _ in }) -> WebSocketServer {
            .inline(configure) { [log] in LoggedHandler.sink(log) }
        }

        private func open(_ server: RunningServer) async throws -> ScriptedPeer {
            let peer = try await ScriptedPeer.connect(to: server.port)
            #expect(try await peer.upgrade().status == 101)
            await log.expect(.opened)
            return peer
        }

        private func expectFreedWithoutFaults() async {
            await log.expect(.freed)
            #expect(log.faults == [])
        }

        @Test(arguments: [nil, 1000, 4001] as [UInt16?]) func `a close from the peer is answered and ends the handler`(code: UInt16?)
            async throws
        {
            let frame = CloseFrame(code.map { CloseCode(rawValue: $0) }, reason: code == nil ? "" : "bye")
            try await sink().withRunning { server in
                let peer = try await open(server)
                let frames = [WireFrame.text("last"), WireFrame(.close, frame.payload), .text("too late")]
                try await peer.send(frames.flatMap { $0.bytes(to: .server) })
                #expect(try await peer.readClose().code == frame.code)
                #expect(await peer.readToEnd().isEmpty)
                await log.expect(.received(.text("last")))
                switch await log.next() {
                case .ended(let record)?: #expect(record.received == frame && record.closedFirst == .remote && record.isClean)
                case .failed(let code, let record)?:
                    #expect(code == .closed && record?.received == frame && frame.code == CloseCode(rawValue: 4001))
                case let other: Issue.record("\(String(describing: other))")
                }
            }
            await expectFreedWithoutFaults()
        }

        @Test func `a handler that closes sends its earlier messages, and none after the close`() async throws {
            let server = WebSocketServer.inline { [log] in
                LoggedHandler(log) { kind, bytes, socket in
                    log.add(.received(Message(kind, bytes)))
                    for number in 1...3 { socket.send(.text("\(number)")) }
                    socket.close(code: .goingAway, reason: "enough")
                    if socket.send(.text("too late")) { log.fault("a message is accepted after the close") }
                    socket.close(code: .normal)
                }
            }
            try await server.withRunning { server in
                let peer = try await open(server)
                try await peer.send(.text("go"), to: .server)
                for number in 1...3 { #expect(try await peer.readFrame() == .text("\(number)")) }
                #expect(try await peer.readFrame() == .close(.goingAway, reason: "enough"))
                // A message before the answer is still delivered.
                try await peer.send(.text("crossing"), to: .server)
                try await peer.send(.close(.goingAway), to: .server)
                #expect(await peer.readToEnd().isEmpty)
                await log.expect(.received(.text("go")))
                await log.expect(.received(.text("crossing")))
                guard case .ended(let record)? = await log.next() else { throw ScriptedPeer.Ended() }
                #expect(record.isClean && record.closedFirst == .local && record.sent?.reason == "enough")
            }
            await expectFreedWithoutFaults()
        }

        @Test func `a handler may close while the connection opens`() async throws {
            let server = WebSocketServer.inline { [log] in
                LoggedHandler(log) { socket in
                    socket.send(.text("sorry"))
                    socket.close(code: .tryAgainLater)
                } received: { _, _, _ in
                }
            }
            try await server.withRunning { server in
                let peer = try await open(server)
                #expect(try await peer.readFrame() == .text("sorry"))
                #expect(try await peer.answerClose(to: .server).code == .tryAgainLater)
                guard case .ended(let record)? = await log.next() else { throw ScriptedPeer.Ended() }
                #expect(record.closedFirst == .local)
            }
            await expectFreedWithoutFaults()
        }

        @Test func `a code that may not be sent is replaced, and a long reason is cut`() async throws {
            let server = WebSocketServer.inline { [log] in
                LoggedHandler(log) {
                    $0.close(code: CloseCode(rawValue: 1006), reason: String(repeating: "é", count: 100))
                } received: { _, _, _ in
                }
            }
            try await server.withRunning { server in
                let close = try await open(server).answerClose(to: .server)
                #expect(close == CloseFrame(.normal, reason: String(repeating: "é", count: 61)))
                _ = await log.end()
            }
            await expectFreedWithoutFaults()
        }

        struct BadInput: CustomTestStringConvertible {
            let testDescription: String
            let bytes: [UInt8]
            let code: CloseCode
        }

        static let badInputs = [
            BadInput(
                testDescription: "text that is not UTF-8", bytes: WireFrame(.text, [0xC3, 0x28]).bytes(to: .server), code: .invalidPayload),
            BadInput(testDescription: "a frame without a mask", bytes: WireFrame.text("x").bytes(to: .client), code: .protocolError),
            BadInput(testDescription: "an unknown opcode", bytes: [0x83, 0x80, 1, 2, 3, 4], code: .protocolError),
            BadInput(testDescription: "a message too big", bytes: [0x82, 0xFE, 0x03, 0xE9, 1, 2, 3, 4], code: .messageTooBig),
            BadInput(
                testDescription: "text in fragments that is not UTF-8",
                bytes: WireFrame(.text, [0xC3], isFinal: false).bytes(to: .server) + WireFrame(.continuation, [0x28]).bytes(to: .server),
                code: .invalidPayload),
        ]

        @Test(arguments: badInputs) func `a violation closes with its code, after the messages before it`(input: BadInput) async throws {
            let server = WebSocketServer.inline {
                $0.limits.message = 1000
            } _: { [log] in
                LoggedHandler(log) { kind, bytes, socket in
                    log.add(.received(Message(kind, bytes)))
                    socket.send(kind, bytes)
                }
            }
            try await server.withRunning { server in
                let peer = try await open(server)
                let before = (1...3).flatMap { WireFrame.text("\($0)").bytes(to: .server) }
                try await peer.send(before + input.bytes + WireFrame.text("too late").bytes(to: .server))
                for number in 1...3 { #expect(try await peer.readFrame() == .text("\(number)")) }
                #expect(try await peer.readClose().code == input.code)
                #expect(await peer.readToEnd().isEmpty)
                for number in 1...3 { await log.expect(.received(.text("\(number)"))) }
                guard case .failed(let code, let record)? = await log.next() else { throw ScriptedPeer.Ended() }
                #expect(code == .protocolViolation && record?.sent?.code == input.code)
            }
            await expectFreedWithoutFaults()
        }

        @Test func `a peer that disconnects is a lost connection`() async throws {
            try await sink().withRunning { server in
                let peer = try await open(server)
                try await peer.send(WireFrame.text("last").bytes(to: .server) + [0x82, 0xFF, 0, 0])
                await log.expect(.received(.text("last")))
                await peer.close()
                guard case .failed(let code, _)? = await log.next() else { throw ScriptedPeer.Ended() }
                #expect(code == .lost)
            }
            await expectFreedWithoutFaults()
        }

        @Test func `a silent peer that answers no ping is dropped`() async throws {
            let server = sink { ($0.timeouts.pingInterval, $0.timeouts.ping) = (.milliseconds(20), .milliseconds(100)) }
            try await server.withRunning { server in
                let peer = try await open(server)
                #expect(try await peer.readFrame().opcode == .ping)
                guard case .failed(let code, _)? = await log.next() else { throw ScriptedPeer.Ended() }
                #expect(code == .unresponsive)
            }
            await expectFreedWithoutFaults()
        }

        /// The connection may break during a send of the handler.
        ///
        /// The handler gets `ended` after the current call and after the messages that were read with the current one.
        @Test func `a connection that breaks while the handler sends ends after that call, not inside it`() async throws {
            let count = 200
            let server = WebSocketServer.inline {
                $0.compression = nil
            } _: { [log] in
                var isFirst = true
                return LoggedHandler(log) { _, bytes, socket in
                    if isFirst {
                        isFirst = false
                        RawPeer(descriptor: bytes.withUnsafeBytes { $0.loadUnaligned(as: Int32.self) }).reset()
                        for _ in 1...100 { socket.send(.binary([UInt8](repeating: 1, count: 64 << 10))) }
                    } else if socket.send(.text("x")) {
                        log.fault("a message is accepted after the link has broken")
                    }
                    log.note("returned")
                }
            }
            try await server.withRunning { server in
                let peer = try RawPeer(port: server.port)
                let frames = Array(repeatElement(WireFrame(.binary, peer.bytes).bytes(to: .server), count: count))
                try peer.send(try ScriptedPeer.upgradeRequest() + Array(frames.joined()))
                await log.expect(.opened)
                await log.expect(.note("returned"))
                guard case .failed(let code, _)? = await log.end() else { throw ScriptedPeer.Ended() }
                #expect(code == .lost)
            }
            await expectFreedWithoutFaults()
        }

        @Test func `a graceful shutdown closes inline connections with 1001 and waits for their ends`() async throws {
            let connections = try await sink().withRunning { server in
                var connections: [WebSocketConnection] = []
                for _ in 1...3 {
                    connections.append(try await WebSocketConnection.connect(to: server.url()))
                    await log.expect(.opened)
                }
                return connections
            }
            for connection in connections {
                #expect(await connection.end() == nil)
                #expect(connection.closeRecord?.received?.code == .goingAway)
            }
            var ends = 0
            while ends < 3, case .ended(let record)? = await log.end() {
                #expect(record.isClean && record.closedFirst == .local)
                ends += 1
            }
            #expect(ends == 3 && log.faults == [])
        }

        @Test func `a shutdown drops an inline connection that does not answer within the grace period`() async throws {
            let server = sink { ($0.timeouts.close, $0.shutdownGrace) = (.seconds(3600), .milliseconds(100)) }
            let peer = try await server.withRunning { try await open($0) }
            #expect(try await peer.readClose().code == .goingAway)
            #expect(await peer.readToEnd().isEmpty)
            guard case .failed(let code, let record)? = await log.next() else { throw ScriptedPeer.Ended() }
            #expect(code == .lost && record?.sent?.code == .goingAway)
            await expectFreedWithoutFaults()
        }
    }
}

/// One end of a TCP connection that can reset at once from any thread: it uses no NIO and does not wait.
private struct RawPeer {
    let descriptor: Int32

    /// The descriptor as bytes of a message.
    var bytes: [UInt8] { withUnsafeBytes(of: descriptor, Array.init) }

    init(descriptor: Int32) { self.descriptor = descriptor }

    init(port: Int) throws {
        #if canImport(Glibc)
            let stream = Int32(SOCK_STREAM.rawValue)
        #else
            let stream = SOCK_STREAM
        #endif
        descriptor = socket(AF_INET, stream, 0)
        let result = try SocketAddress(ipAddress: "127.0.0.1", port: port).withSockAddr { [descriptor] address, size in
            connect(descriptor, address, socklen_t(size))
        }
        guard result == 0 else { throw ScriptedPeer.Ended() }
    }

    /// Sends a few bytes, which the system accepts at once.
    func send(_ bytes: [UInt8]) throws {
        guard write(descriptor, bytes, bytes.count) == bytes.count else { throw ScriptedPeer.Ended() }
    }

    /// Resets the connection (RST); the other side notices at its next read or write.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        close(descriptor)
    }
}
