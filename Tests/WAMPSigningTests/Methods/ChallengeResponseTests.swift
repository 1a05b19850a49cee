import CodecCore
import Testing

@testable import WAMPSigning

/// Compares with the answers of Autobahn|Python 26.10.2 to challenges in Crossbar's form.
@Suite("WAMP-CRA")
struct ChallengeResponseTests {
    static let challenge = """
        {"authid": "peter", "authrole": "user", "authmethod": "wampcra", "authprovider": "static", "session": 3251278072152162, \
        "nonce": "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=", "timestamp": "2026-11-22T08:00:00.000Z"}
        """

    @Test("a challenge gets the same signature as from Autobahn")
    func plain() throws {
        let answer = try ChallengeResponse.answer(["challenge": .text(Self.challenge)], secret: "secret123")
        #expect(answer == "XOAxp9zVrLlQBSY75P2wogFEVrZvT+ZmY+wVFyqUIgY=")
    }

    @Test("a salted challenge gets the same signature as from Autobahn, also with default costs")
    func salted() throws {
        let extra: ValueMap = ["challenge": .text(Self.challenge), "salt": "salt123", "iterations": 1000, "keylen": 32]
        #expect(try ChallengeResponse.answer(extra, secret: "secret123") == "GQyfszlOlkO/vuaurRg6tp7qvhqzLBLXw0Tr2EMp0ok=")
        let short: ValueMap = ["challenge": .text(Self.challenge), "salt": "salt123"]
        #expect(try ChallengeResponse.answer(short, secret: "secret123") == "GQyfszlOlkO/vuaurRg6tp7qvhqzLBLXw0Tr2EMp0ok=")
    }

    @Test("a secret is salted as by Autobahn, for keys of one hash block and of more")
    func derived() throws {
        #expect(try ChallengeResponse.saltedSecret("secret123", salt: "salt123") == "Eu7CQLfR+/Ffb+275A4s9/6H/RGKYxM4s6IMrsNKzC8=")
        #expect(
            try ChallengeResponse.saltedSecret("secret123", salt: "salt123", iterations: 1003, length: 48)
                == "NbdqMOe7Z4hNS2uHhxcn1KGkggp0HT+98+xx56Ci4OLOivXV1xeh9V043IbmQeDH")
    }

    @Test("a challenge with an excessive or a trivial cost is refused")
    func costs() {
        for iterations in [1, 999, 1_000_001, Int.max] {
            #expect(throws: SigningError.cost("iterations", iterations)) {
                try ChallengeResponse.answer(["challenge": "c", "salt": "s", "iterations": .integer(Int64(iterations))], secret: "x")
            }
        }
        for length in [-1, 0, 65, Int.max] {
            #expect(throws: SigningError.cost("keylen", length)) {
                try ChallengeResponse.answer(["challenge": "c", "salt": "s", "keylen": .integer(Int64(length))], secret: "x")
            }
        }
    }

    @Test("a challenge without its text or with an invalid salt is refused")
    func malformed() {
        #expect(throws: SigningError.field("challenge")) { try ChallengeResponse.answer([:], secret: "x") }
        #expect(throws: SigningError.field("challenge")) { try ChallengeResponse.answer(["challenge": 7], secret: "x") }
        #expect(throws: SigningError.field("salt")) { try ChallengeResponse.answer(["challenge": "c", "salt": 7], secret: "x") }
    }

    @Test("a router accepts only the right secret, plain and salted")
    func router() throws {
        let salted = CRASecret(salted: try ChallengeResponse.saltedSecret("right", salt: "pepper"), salt: "pepper")
        for secret in [CRASecret("right"), salted] {
            let challenge = CRAChallenge(session: 7, authID: "joe", authRole: "user", secret: secret)
            #expect(challenge.isAnswered(by: try ChallengeResponse.answer(challenge.extra, secret: "right")))
            #expect(!challenge.isAnswered(by: try ChallengeResponse.answer(challenge.extra, secret: "wrong")))
            #expect(!challenge.isAnswered(by: ""))
        }
    }

    @Test("challenges differ, and the answer to one does not match another")
    func fresh() throws {
        let challenges = (0..<8).map { _ in CRAChallenge(authID: "joe", authRole: "user", secret: CRASecret("right")) }
        #expect(Set(challenges.map { $0.extra }).count == challenges.count)
        #expect(!challenges[1].isAnswered(by: try ChallengeResponse.answer(challenges[0].extra, secret: "right")))
    }

    @Test("a router's challenge names the client in JSON")
    func contents() throws {
        let challenge = CRAChallenge(session: 7, authID: "joe \"x\"", authRole: "user", secret: CRASecret("right"), time: "now")
        let text = try #require(challenge.extra["challenge"]?.string)
        let bytes = Array(text.utf8)
        let value = try bytes.withUnsafeBytes { try Value(json: $0.bytes) }
        #expect(value["authid"] == "joe \"x\"")
        #expect(value["authrole"] == "user")
        #expect(value["authmethod"] == "wampcra")
        #expect(value["session"] == 7)
        #expect(value["timestamp"] == "now")
    }
}
