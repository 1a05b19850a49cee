import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// Frames that a server may not send, and the client's reaction.
    @Suite struct ServerFramesTests {
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
            BadInput("a length of 2^63", [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], .lengthOverflow),
            BadInput("a length of 2^64 - 1", [0x82, 127] + [UInt8](repeating: 0xFF, count: 8), .lengthOverflow),
            BadInput("a length of 2^63 - 1", [0x82, 127, 0x7F] + [UInt8](repeating: 0xFF, count: 7), .messageTooBig, .messageTooBig),
            BadInput("5 bytes announced in 16 bits", [0x82, 126, 0, 5], .nonMinimalLength),
            BadInput("5 bytes announced in 64 bits", [0x82, 127, 0, 0, 0, 0, 0, 0, 0, 5], .nonMinimalLength),
            BadInput("a masked frame", WireFrame.text("x").bytes(to: .server), .unexpectedMask),
            BadInput("a reserved bit", [0xA1, 0], .reservedBits),
            BadInput("a compressed frame without compression", [0xC1, 1, 0], .reservedBits),
            BadInput("an unknown opcode", [0x83, 0], .unknownOpcode),
            BadInput("a fragmented ping", [0x09, 0], .fragmentedControl),
            BadInput("a ping of 126 bytes", [0x89, 126, 0, 126], .oversizedControl),
            BadInput("a continuation without a message", [0x80, 0], .unexpectedContinuation),
            BadInput("a message inside another", [0x01, 0, 0x81, 0], .expectedContinuation),
            BadInput("text that is not UTF-8", [0x81, 2, 0xC3, 0x28], .invalidUTF8, .invalidPayload),
            BadInput("text that ends in the middle of a character", [0x81, 1, 0xC3], .invalidUTF8, .invalidPayload),
            BadInput("text that is invalid before its frame ends", [0x81, 100, 0xFF], .invalidUTF8, .invalidPayload),
            BadInput("a close frame of one byte", [0x88, 1, 3], .invalidCloseFrame),
            BadInput("a close code that may not be sent", [0x88, 2, 0x03, 0xEE], .invalidCloseFrame),
            BadInput("a close reason that is not UTF-8", [0x88, 3, 0x03, 0xE8, 0xFF], .invalidUTF8, .invalidPayload),
        ]

        @Test(arguments: badInputs, [true, false])
        func `a protocol violation closes with its code and is reported to the app`(input: BadInput, withTheHandshake: Bool) async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade(then: withTheHandshake ? input.bytes : [])
                if !withTheHandshake { try await peer.send(input.bytes) }
                #expect(try await peer.readClose().code == input.code)
                #expect(await peer.readToEnd().isEmpty)
            } client: { url in
                let configuration = WebSocketConfiguration.with { $0.compression = nil }
                let connection = try await WebSocketConnection.connect(to: url, configuration: configuration)
                let error = await connection.end()
                #expect(error?.code == .protocolViolation)
                #expect((error?.underlying as? ProtocolViolation)?.kind == input.kind)
                #expect(error?.closeRecord?.sent?.code == input.code)
                // A later message may fit the limit, so a retry makes sense.
                #expect(error?.isRetryable == (input.code == .messageTooBig))
                let sending = await #expect(throws: WebSocketError.self) { try await connection.send(.text("too late")) }
                #expect(sending?.code == .protocolViolation)
            }
        }

        @Test func `messages before a violation are delivered, and none after it`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade(
                    then: WireFrame.text("before").bytes(to: .client) + [0x83, 0] + WireFrame.text("after").bytes(to: .client))
                #expect(try await peer.readClose().code == .protocolError)
            } client: { url in
                let connection = try await WebSocketConnection.connect(to: url)
                try await connection.expect(.text("before"))
                #expect(await connection.end()?.code == .protocolViolation)
                #expect(await connection.end()?.code == .protocolViolation)
            }
        }

        @Test func `a frame whose announced bytes never arrive is a lost connection`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade(then: [0x82, 127, 0, 0, 0, 0, 0, 0x10, 0, 0] + [1, 2, 3])
            } client: { url in
                let error = await (try WebSocketConnection.connect(to: url)).end()
                #expect(error?.code == .lost)
                #expect(error?.isRetryable == true)
            }
        }

        @Test(arguments: [Delivery.messages, .chunks])
        func `an announced length of 2^63 - 1 bytes allocates nothing, even if the limit allows it`(delivery: Delivery) async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade(then: [0x82, 127, 0x7F] + [UInt8](repeating: 0xFF, count: 7) + [1, 2, 3])
            } client: { url in
                let configuration = WebSocketConfiguration.with { ($0.limits.message, $0.delivery) = (.max, delivery) }
                let connection = try await WebSocketConnection.connect(to: url, configuration: configuration)
                #expect(await connection.end()?.code == .lost)
            }
        }

        @Test func `too many fragments are refused with 1008`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade(then: [0x02, 0] + (1...10).flatMap { _ in [0x00, 0] as [UInt8] })
                #expect(try await peer.readClose().code == .policyViolation)
            } client: { url in
                let configuration = WebSocketConfiguration.with { $0.limits.fragments = 10 }
                let error = await (try WebSocketConnection.connect(to: url, configuration: configuration)).end()
                #expect((error?.underlying as? ProtocolViolation)?.kind == .tooManyFragments)
            }
        }

        @Test(arguments: [Delivery.messages, .chunks])
        func `a compression bomb is stopped at the message limit with 1009`(delivery: Delivery) async throws {
            let bomb = WireFrame(.binary, compressed(zeros: 64 << 20), isCompressed: true)
            #expect(bomb.payload.count < 100_000)
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade(["Sec-WebSocket-Extensions": "permessage-deflate"])
                try await peer.send(bomb, to: .client)
                #expect(try await peer.readClose().code == .messageTooBig)
            } client: { url in
                let configuration = WebSocketConfiguration.with { $0.delivery = delivery }
                let connection = try await WebSocketConnection.connect(to: url, configuration: configuration)
                var received = 0
                let error = await #expect(throws: WebSocketError.self) {
                    for try await chunk in connection.chunks { received += chunk.bytes.count }
                }
                #expect(received <= WebSocketLimits().message)
                #expect((error?.underlying as? ProtocolViolation)?.kind == .messageTooBig)
            }
        }

        @Test func `an invalid compressed message is refused with 1007`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade(["Sec-WebSocket-Extensions": "permessage-deflate"])
                try await peer.send(WireFrame(.text, [0x07, 0xFF, 0xFF], isCompressed: true), to: .client)
                #expect(try await peer.readClose().code == .invalidPayload)
            } client: { url in
                let error = await (try WebSocketConnection.connect(to: url)).end()
                #expect((error?.underlying as? ProtocolViolation)?.kind == .invalidCompressedData)
            }
        }
    }
}

/// A message of zeros in the format of permessage-deflate.
func compressed(zeros count: Int) -> [UInt8] {
    let (deflater, piece) = (Deflater(parameters: DeflateParameters(), role: .server), [UInt8](repeating: 0, count: 1 << 20))
    var output: [UInt8] = []
    for index in 1...count >> 20 {
        piece.withUnsafeBytes { deflater.deflate($0, isLast: index == count >> 20, into: &output) }
    }
    return output
}
