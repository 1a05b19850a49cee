import MachineCore
import Testing

@testable import WebSocketCore

/// RFC 6455 §4.1 and §4.2.2, RFC 3174, RFC 4648.
@Suite struct WebSocketKeyTests {
    @Test func `the accept value of the key in RFC 6455 §1.3 is right`() {
        #expect(WebSocketKey("dGhlIHNhbXBsZSBub25jZQ==")?.accept == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test func `random keys have 16 bytes and differ`() {
        var generator = HandshakeSeed(state: 1)
        let keys = (0..<100).map { _ in WebSocketKey(using: &generator) }
        #expect(Set(keys).count == 100)
        #expect(keys.allSatisfy { WebSocketKey($0.value) == $0 })
    }

    @Test(arguments: [
        "", "=", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZQ===", "dGhlIHNhbXBsZSBub25j",
        "dGhlIHNhbXBsZSBub25jZWU=", "dGhlIHNhbXBsZSBub25jZWVl", "dGhlIHNhbXBs ZSBub25jZ==", "dGhlIHNhbXBsZSBub25j-_==",
        "dGhlIHNhbXBsZSBub25jZ===", "====================", "dGhlIHNhbXBsZSBub25j\u{e9}==",
    ])
    func `a key that is not Base64 of 16 bytes is nil`(text: String) {
        #expect(WebSocketKey(text) == nil)
    }

    @Test(arguments: [
        ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"), ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
        (String(repeating: "a", count: 55), "c1c8bbdc22796e28c0e15163d20899b65621d65a"),
        (String(repeating: "a", count: 56), "c2db330f6083854c99d4b5bfb6e8f29f201be699"),
        (String(repeating: "a", count: 63), "03f09f5b158a7a8cdad920bddc29b81c18a551f5"),
        (String(repeating: "a", count: 64), "0098ba824b5c16427bd7a1122a5a442a25ec644d"),
        (String(repeating: "a", count: 1_000_000), "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
    ])
    func `SHA-1 matches its test vectors`(message: String, digest: String) {
        let bytes = SHA1.digest(Array(message.utf8))
        #expect(bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == digest)
    }

    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ])
    func `Base64 matches RFC 4648 §10`(bytes: String, text: String) {
        #expect(Base64.text(Array(bytes.utf8)) == text)
    }
}
