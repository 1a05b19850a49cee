import Testing
import WebSocketCore

/// Input from a peer never causes a trap.
@Suite struct HandshakeRobustnessTests {
    /// Random bytes, or a valid head with a few bytes changed, removed or repeated.
    static func mutant(of text: String, using generator: inout HandshakeSeed) -> [UInt8] {
        var bytes = Array(text.utf8)
        let separators = Array("\r\n\0 \t:;,=\"\\/?%é".utf8) + [0x00, 0x7F, 0x80, 0xC3, 0xFF]
        if Int.random(in: 0..<8, using: &generator) == 0 {
            bytes = (0..<200).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        }
        for _ in 0..<Int.random(in: 0...6, using: &generator) {
            let place = bytes.indices.randomElement(using: &generator) ?? 0
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: bytes[place] = UInt8.random(in: .min ... .max, using: &generator)
            case 1: bytes.insert(separators.randomElement(using: &generator) ?? 0, at: place)
            case 2: bytes.remove(at: place)
            default: bytes.insert(contentsOf: bytes[place...].prefix(20), at: place)
            }
        }
        return bytes
    }

    @Test(arguments: 0..<20)
    func `mutated requests are answered or refused`(seed: UInt64) throws {
        var generator = HandshakeSeed(state: seed)
        let text = HandshakeFixtures.request.replacing(
            "Origin", with: "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=\"10\", a\r\nOrigin")
        var accepted = 0
        for _ in 0..<250 {
            let bytes = Self.mutant(of: text, using: &generator)
            do throws(HandshakeFailure) {
                guard let head = try HandshakeFixtures.parse(RequestHead.self, [bytes])?.head else { continue }
                _ = (head.path, head.query, head.description)
                let handshake = try ServerHandshake(head)
                let agreement = try handshake.accept(subprotocol: handshake.offeredSubprotocols.first, deflate: .init())
                _ = try agreement.response.encoded()
                accepted += 1
            } catch {
                #expect(error.refusal != nil)
            }
        }
        #expect(accepted > 0)
    }

    @Test(arguments: 0..<20)
    func `mutated responses are accepted or fail`(seed: UInt64) throws {
        var generator = HandshakeSeed(state: seed)
        var nonce = ClientHandshakeTests.SampleNonce()
        let client = try ClientHandshake(url: try WebSocketURL("ws://h"), subprotocols: ["chat"], deflate: .init(), using: &nonce)
        let text = HandshakeFixtures.response.replacing(
            "Upgrade: w", with: "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=10\r\nUpgrade: w")
        var agreed = 0
        for _ in 0..<250 {
            let bytes = Self.mutant(of: text, using: &generator)
            do throws(HandshakeFailure) {
                guard let found = try HandshakeFixtures.parse(ResponseHead.self, [bytes]) else { continue }
                var body = RefusalBody(of: found.head, limit: 64)
                bytes.withUnsafeBytes { _ = body.append($0) }
                #expect(body.bytes.count <= 64)
                _ = try client.check(found.head)
                agreed += 1
            } catch {
                #expect(!error.description.utf8.contains { $0 < 0x20 })
            }
        }
        #expect(agreed > 0)
    }

    @Test(arguments: 0..<20)
    func `mutated URLs are parsed or refused`(seed: UInt64) throws {
        var generator = HandshakeSeed(state: seed)
        for _ in 0..<250 {
            let text = String(decoding: Self.mutant(of: "wss://[::1]:443/a?b", using: &generator), as: UTF8.self)
            guard let url = try? WebSocketURL(text) else { continue }
            #expect(try WebSocketURL(url.string) == url)
            #expect(throws: Never.self) { try RequestHead(target: url.target, headers: ["Host": url.hostHeader]).encoded() }
        }
    }
}
