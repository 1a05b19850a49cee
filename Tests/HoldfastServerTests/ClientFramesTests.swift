import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// Invalid input of clients, and the answers of the server.
    @Suite struct ClientFramesTests {
        struct BadInput: CustomTestStringConvertible {
            let testDescription: String
            let bytes: [UInt8]
            let kind: ProtocolViolation.Kind
            let code: CloseCode

            init(_ name: String, _ bytes: [UInt8], _ kind: ProtocolViolation.Kind, _ code: CloseCode = .protocolError) {
                (testDescription, self.bytes, self.kind, self.code) = (name, bytes, kind, code)
            }
        }

        static let badInputs = [
            BadInput("a length of 2^63", [0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4], .lengthOverflow),
            BadInput("a length of 2^63 - 1", [0x82, 0xFF, 0x7F] + [UInt8](repeating: 0xFF, count: 11), .messageTooBig, .messageTooBig),
            BadInput("5 bytes announced in 64 bits", [0x82, 0xFF, 0, 0, 0, 0, 0, 0, 0, 5, 1, 2, 3, 4], .nonMinimalLength),
            BadInput("a frame without a mask", WireFrame.text("x").bytes(to: .client), .missingMask),
            BadInput("an opcode nobody knows", [0x83, 0x80, 1, 2, 3, 4], .unknownOpcode),
            BadInput("a ping of 126 bytes", [0x89, 0xFE, 0, 126, 1, 2, 3, 4], .oversizedControl),
            BadInput("a message inside another", [0x01, 0x80, 1, 2, 3, 4, 0x81, 0x80, 1, 2, 3, 4], .expectedContinuation),
            BadInput("text that is not UTF-8", WireFrame(.text, [0xC3, 0x28]).bytes(to: .server), .invalidUTF8, .invalidPayload),
            BadInput("a message beyond the limit", [0x82, 0xFE, 0x03, 0xE9, 1, 2, 3, 4], .messageTooBig, .messageTooBig),
        ]

        @Test(arguments: badInputs, [true, false])
        func `a protocol violation closes the connection and fails the handler`(input: BadInput, withTheHandshake: Bool) async throws {
            let (errors, failed) = AsyncStream.makeStream(of: (any Error).self)
            let server = WebSocketServer(configuration: .with { $0.limits.message = 1000 }) { connection, _ in
                do { for try await _ in connection.messages {} } catch { failed.yield(error) }
            }
            try await server.withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                try await peer.send(try ScriptedPeer.upgradeRequest() + (withTheHandshake ? input.bytes : []))
                #expect(try await peer.readResponse().status == 101)
                if !withTheHandshake { try await peer.send(input.bytes) }
                #expect(try await peer.readClose().code == input.code)
                // RFC 6455 §7.1.1: the server ends TCP first.
                #expect(await peer.readToEnd().isEmpty)
                for await error in errors {
                    let error = error as? WebSocketError
                    #expect(error?.code == .protocolViolation)
                    #expect((error?.underlying as? ProtocolViolation)?.kind == input.kind)
                    break
                }
            }
        }

        @Test func `a compressed bomb of 256 MiB is refused at the message limit with 1009 and uses little memory`() async {
            // The test measures memory and needs a process of its own.
            await #expect(processExitsWith: .success) {
                let size = 256
                let (deflater, piece) = (Deflater(parameters: DeflateParameters(), role: .client), [UInt8](repeating: 0, count: 1 << 20))
                var bomb: [UInt8] = []
                for index in 1...size { piece.withUnsafeBytes { deflater.deflate($0, isLast: index == size, into: &bomb) } }
                let frame = WireFrame(.binary, bomb, isCompressed: true).bytes(to: .server)
                let start = residentMemory() ?? 0
                try await WebSocketServer.echo().withRunning { server in
                    let peer = try await ScriptedPeer.open(server, headers: ["Sec-WebSocket-Extensions": "permessage-deflate"])
                    try await peer.send(frame)
                    guard try await peer.readClose().code == .messageTooBig, await peer.readToEnd().isEmpty else {
                        throw ScriptedPeer.Ended()
                    }
                }
                guard (residentMemory() ?? 0) - start < 32 << 20 else { throw ScriptedPeer.Ended() }
            }
        }

        @Test func `a client that disconnects within a frame is a lost connection`() async throws {
            let (errors, failed) = AsyncStream.makeStream(of: WebSocketError.self)
            let server = WebSocketServer { connection, _ in
                do throws(WebSocketError) { for try await _ in connection.messages {} } catch { failed.yield(error) }
            }
            try await server.withRunning { server in
                let peer = try await ScriptedPeer.open(server)
                try await peer.send([0x82, 0xFF, 0, 0, 0, 0, 0])
                await peer.close()
                for await error in errors {
                    #expect(error.code == .lost)
                    break
                }
            }
        }
    }
}
