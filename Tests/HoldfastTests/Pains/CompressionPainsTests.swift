import Holdfast
import ScriptedPeers
import Testing
import WebSocketCore
import WebSocketRuntime

extension SocketTests {
    /// permessage-deflate: problems that cost users of other libraries days.
    @Suite struct CompressionPainsTests {
        private static let text = String(repeating: #"{"symbol":"AAPL","bid":187.25} "#, count: 40)

        /// A bug of Ktor.
        @Test func `one deflate stream continues through all fragments and all messages`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade(["Sec-WebSocket-Extensions": "permessage-deflate"])
                let deflater = Deflater(parameters: DeflateParameters(), role: .server)
                var lengths: [Int] = []
                for number in 1...5 {
                    var bytes: [UInt8] = []
                    Array("\(number) \(Self.text)".utf8).withUnsafeBytes { deflater.deflate($0, isLast: true, into: &bytes) }
                    lengths.append(bytes.count)
                    let cuts = [0, bytes.count / 3, bytes.count / 2, bytes.count]
                    for (index, (start, end)) in zip(cuts, cuts.dropFirst()).enumerated() {
                        let frame = WireFrame(
                            index == 0 ? .text : .continuation, Array(bytes[start..<end]), isFinal: index == 2, isCompressed: index == 0)
                        try await peer.send(frame, to: .client)
                        try await peer.send(WireFrame(.ping, [UInt8(number)]), to: .client)
                    }
                }
                #expect(lengths[4] * 2 < lengths[0], "later messages refer to earlier ones")
                try await peer.answerClose(to: .client)
            } client: { url in
                try await WebSocketConnection.withConnection(to: url) { connection in
                    for number in 1...5 { try await connection.expect(.text("\(number) \(Self.text)")) }
                }
            }
        }

        /// A wish in tungstenite#2.
        @Test func `pain 25: compression is offered by default, and used once agreed`() async throws {
            try await withScriptedServer { peer in
                let request = try await peer.acceptUpgrade(["Sec-WebSocket-Extensions": "permessage-deflate"])
                #expect(request.headers["Sec-WebSocket-Extensions"]?.hasPrefix("permessage-deflate") == true)
                let frame = try await peer.readFrame()
                #expect(frame.isCompressed && frame.payload.count * 4 < Self.text.utf8.count)
                try await peer.send(frame, to: .client)
                try await peer.answerClose(to: .client)
            } client: { url in
                try await WebSocketConnection.withConnection(to: url) { connection in
                    try await connection.send(.text(Self.text))
                    try await connection.expect(.text(Self.text))
                }
            }
        }
    }
}
