import CodecCore
import Testing

@testable import WAMPSigning

@Suite("WAMP-Cryptosign")
struct CryptosignTests {
    static let seed = "09c8461d35f708f09334e47adae36790561f0e68481b2a40236ffe75efe21bdf"
    static let challenge = "2dd00bd77e0222ced882665481a9c1d9f907309d16e05ed007a1ea63928477a9"
    /// The signature by Autobahn|Python 26.10.2 with that seed.
    static let answer = """
        4cc80707c7f142c0ccb27222cf9dac794c57fd42c8ed600b3ec6061c5bed7668d345884f88bdde62e8c470a486210d795db435a6b9ae035eef9af4a7053780\
        012dd00bd77e0222ced882665481a9c1d9f907309d16e05ed007a1ea63928477a9
        """

    @Test("the public key of a seed is the same as in Autobahn")
    func publicKey() throws {
        #expect(
            try CryptosignKey(hexadecimal: Self.seed).publicKey == "f5b62743f4689e59be3746ffa6714aca94dd8f9d15278290ca7f7e6b91fefbd3")
    }

    @Test("an answer is a signature followed by the signed bytes, as in Autobahn")
    func answer() throws {
        let key = try CryptosignKey(hexadecimal: Self.seed)
        let answer = try key.answer(["challenge": .text(Self.challenge), "channel_binding": .null])
        #expect(answer.count == 192)
        #expect(answer.hasSuffix(Self.challenge))
        // CryptoKit signs the same text differently each time; BoringSSL does not.
        #if !canImport(Darwin)
            #expect(answer == Self.answer)
        #endif
    }

    @Test("a router accepts only the answer of the key's holder")
    func router() throws {
        let key = CryptosignKey()
        let challenge = try #require(CryptosignChallenge(publicKey: key.publicKey))
        #expect(challenge.isAnswered(by: try key.answer(challenge.extra)))
        #expect(!challenge.isAnswered(by: try CryptosignKey().answer(challenge.extra)))
        let other = try #require(CryptosignChallenge(publicKey: key.publicKey))
        #expect(!challenge.isAnswered(by: try key.answer(other.extra)))
    }

    @Test("a truncated, extended, changed or non-hexadecimal answer is refused", arguments: ["", "zz", "00", "é"])
    func broken(text: String) throws {
        let key = CryptosignKey()
        let challenge = try #require(CryptosignChallenge(publicKey: key.publicKey))
        let right = try key.answer(challenge.extra)
        #expect(!challenge.isAnswered(by: text))
        #expect(!challenge.isAnswered(by: String(right.dropLast(2))))
        #expect(!challenge.isAnswered(by: right + "00"))
        let first = try #require(right.first)
        #expect(!challenge.isAnswered(by: (first == "0" ? "1" : "0") + right.dropFirst()))
    }

    @Test("a challenge is signed only if it has 32 bytes in hexadecimal digits")
    func malformed() throws {
        let key = CryptosignKey()
        for text in ["", "00", String(repeating: "0", count: 66), String(repeating: "g", count: 64)] {
            #expect(throws: SigningError.field("challenge")) { try key.answer(["challenge": .text(text)]) }
        }
        #expect(throws: SigningError.field("challenge")) { try key.answer([:]) }
    }

    @Test("a seed of another length is no key, and a public key of another length gets no challenge")
    func keys() {
        #expect(throws: SigningError.key) { try CryptosignKey(seed: [1, 2, 3]) }
        #expect(throws: SigningError.key) { try CryptosignKey(hexadecimal: "xyz") }
        #expect(CryptosignChallenge(publicKey: "00") == nil)
        #expect(CryptosignChallenge(publicKey: "") == nil)
    }

    @Test("a key restored from its seed is the same")
    func seeds() throws {
        let key = CryptosignKey()
        #expect(try CryptosignKey(seed: key.seed).publicKey == key.publicKey)
    }
}
