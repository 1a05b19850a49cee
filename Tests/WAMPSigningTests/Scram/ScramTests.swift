import CodecCore
import MachineCore
import Testing

@testable import WAMPSigning

@Suite("SCRAM")
struct ScramTests {
    static let nonce = "ZGVmZ2hpamtsbW5vcHFyc3R1"
    /// The values that Autobahn|Python 26.10.2 derives from `secret123` with Argon2id: Base64 without padding.
    static let argon2 = Argon2id { password, salt, iterations, memory in
        guard password == Array("secret123".utf8), salt == Array(0..<16), iterations == 2, memory == 1024 else { return [] }
        return Base64.bytes("KBNUAQupQdxC2EDQCMPxstSEAz5v7bECu3YVYfem+uw") ?? []
    }

    private func client(_ user: String, password: String = "secret123", nonce: String = Self.nonce, argon2: Argon2id? = nil) -> ScramClient
    {
        ScramClient(user: user, password: password, argon2: argon2, costs: PasswordCosts(), nonce: nonce)
    }

    @Test("the example of RFC 7677 matches in the standard dialect")
    func standard() throws {
        let client = client("user", password: "pencil", nonce: "rOprNGfwEbeRWgbNEkqO")
        let answer = try client.answer(
            [
                "nonce": "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", "salt": "W22ZaJ0SNY7soEsUEjb6gQ==", "kdf": "pbkdf2",
                "iterations": 4096, "memory": nil,
            ], dialect: .standard)
        #expect(answer.signature == "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
        #expect(answer.extra["nonce"] == "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
        #expect(answer.isGenuine(["authextra": ["verifier": "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="]]))
        #expect(answer.isGenuine(["authextra": ["verifier": "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="]]))
    }

    @Test("with Argon2id the answer is the one that Autobahn gives to Crossbar")
    func crossbarArgon2() throws {
        let answer = try client("carol", argon2: Self.argon2).answer(
            [
                "nonce": .text(Self.nonce + "yMnKy8zNzs/Q0dLT1NXW1w=="), "salt": "AAECAwQFBgcICQoLDA0ODw==", "kdf": "argon2id-13",
                "iterations": 2, "memory": 1024,
            ], dialect: .crossbar)
        #expect(answer.signature == "/1Bb+mYvPQqNmJn9W+cjGvSbInIJ5n9HimFAMOFc8l0=")
        #expect(answer.extra.isEmpty)
        #expect(answer.isGenuine(["authextra": ["scram_server_signature": "PtTBXRZpiqzrEsbCVVW1Y+ohs+O6JPbVIViwW1IPoE4="]]))
    }

    /// Autobahn passes the salt as a text to its PBKDF2, which refuses that; with bytes it gives this answer.
    @Test("with PBKDF2 the answer is the one that Autobahn gives to Crossbar")
    func crossbarPBKDF2() throws {
        let answer = try client("dave").answer(
            [
                "nonce": .text(Self.nonce + "yMnKy8zNzs/Q0dLT1NXW1w=="), "salt": "EBESExQVFhcYGRobHB0eHw==", "kdf": "pbkdf2",
                "iterations": 4096, "memory": 0,
            ], dialect: .crossbar)
        #expect(answer.signature == "r+2JFHBWlo9sdtu8RZQ52mLf1X6WUJ/UnfmfvB+oafk=")
        #expect(answer.isGenuine(["authextra": ["scram_server_signature": "yyxiWWCTwsgpQNJ9ufyevBp9a6HrH6rVxjvk4VINjKc="]]))
    }

    @Test("both sides authenticate each other in each dialect", arguments: ScramDialect.allCases, [true, false])
    func bothSides(dialect: ScramDialect, hasArgon2: Bool) throws {
        let argon2 = Argon2id { password, salt, iterations, memory in KeyedHash.hmac(password + [UInt8(iterations)], key: salt) }
        let hash: PasswordHash = hasArgon2 ? .argon2id(iterations: 3, memory: 2048) : .pbkdf2(iterations: 1000)
        let keys = try ScramKeys(password: "pass,word=", dialect: dialect, hash: hash, argon2: argon2)
        let client = ScramClient(user: "a,b=c", password: "pass,word=", argon2: argon2)
        let challenge = try ScramChallenge(user: "a,b=c", keys: keys, hello: client.extra)
        let answer = try client.answer(challenge.extra, dialect: dialect)
        let welcome = try #require(challenge.welcome(answer: answer.signature))
        #expect(answer.isGenuine(["authextra": .map(welcome)]))

        let wrong = ScramClient(user: "a,b=c", password: "wrong", argon2: argon2)
        let second = try ScramChallenge(user: "a,b=c", keys: keys, hello: wrong.extra)
        #expect(second.welcome(answer: try wrong.answer(second.extra, dialect: dialect).signature) == nil)
        // The answer to one challenge does not match another.
        #expect(second.welcome(answer: answer.signature) == nil)
        #expect(second.welcome(answer: "") == nil)
    }

    @Test("a router without the user's keys is not genuine")
    func untrustedServer() throws {
        let keys = try ScramKeys(password: "secret123", dialect: .standard, hash: .pbkdf2(iterations: 1000))
        let client = ScramClient(user: "dave", password: "secret123")
        let challenge = try ScramChallenge(user: "dave", keys: keys, hello: client.extra)
        let answer = try client.answer(challenge.extra, dialect: .standard)
        for details: ValueMap in [
            [:], ["authextra": [:]], ["authextra": ["verifier": ""]], ["authextra": ["verifier": 7]], ["authextra": "verifier"],
            ["authextra": ["verifier": "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="]],
        ] {
            #expect(!answer.isGenuine(details))
        }
    }

    @Test("each client starts with another nonce, which has no padding")
    func nonces() {
        let nonces = (0..<16).map { _ in ScramClient(user: "x", password: "y").extra["nonce"]?.string ?? "" }
        #expect(Set(nonces).count == nonces.count)
        #expect(nonces.allSatisfy { $0.utf8.count == 24 && !$0.contains("=") })
    }

    @Test("a challenge must continue the client's nonce and add to it")
    func foreign() {
        for nonce in ["", "abc", Self.nonce, "x" + Self.nonce] {
            #expect(throws: SigningError.foreignNonce) {
                try client("dave").answer(
                    ["nonce": .text(nonce), "salt": "AAAA", "kdf": "pbkdf2", "iterations": 4096], dialect: .crossbar)
            }
        }
    }

    @Test("a challenge with a missing or invalid field is refused", arguments: ["nonce", "salt", "kdf", "iterations", "memory"])
    func malformed(field: String) {
        let whole: ValueMap = [
            "nonce": .text(Self.nonce + "abcd"), "salt": "AAECAwQFBgcICQoLDA0ODw==", "kdf": "argon2id-13", "iterations": 2, "memory": 1024,
        ]
        for value: Value? in [nil, .null, []] {
            var extra = whole
            extra[.text(field)] = value
            #expect(throws: SigningError.field(field)) { try client("carol", argon2: Self.argon2).answer(extra, dialect: .crossbar) }
        }
    }

    @Test("a challenge with an excessive or a trivial cost is refused before any work is done")
    func costs() {
        let never = Argon2id { _, _, _, _ in
            Issue.record("the password was hashed")
            return []
        }
        for (kdf, iterations, memory, field) in [
            ("pbkdf2", 999, 0, "iterations"), ("pbkdf2", Int.max, 0, "iterations"), ("pbkdf2", -1, 0, "iterations"),
            ("argon2id-13", 17, 1024, "iterations"), ("argon2id-13", 0, 1024, "iterations"), ("argon2id-13", 2, 1023, "memory"),
            ("argon2id-13", 2, 262_145, "memory"), ("argon2id13", 2, Int.max, "memory"),
        ] {
            let extra: ValueMap = [
                "nonce": .text(Self.nonce + "abcd"), "salt": "AAAA", "kdf": .text(kdf), "iterations": .integer(Int64(iterations)),
                "memory": .integer(Int64(memory)),
            ]
            #expect(throws: SigningError.cost(field, field == "memory" ? memory : iterations)) {
                try client("x", argon2: never).answer(extra, dialect: .crossbar)
            }
        }
    }

    @Test("a key derivation function that is not supported is an error")
    func functions() {
        for (kdf, missing) in [("argon2id-13", "argon2id-13"), ("scrypt", "scrypt")] {
            let extra: ValueMap = [
                "nonce": .text(Self.nonce + "abcd"), "salt": "AAAA", "kdf": .text(kdf), "iterations": 2, "memory": 1024,
            ]
            #expect(throws: SigningError.noSuchFunction(missing)) { try client("x").answer(extra, dialect: .crossbar) }
        }
    }

    @Test("a failure of Argon2id is reported without its inputs")
    func failing() throws {
        struct OutOfMemory: Error {}
        let extra: ValueMap = [
            "nonce": .text(Self.nonce + "abcd"), "salt": "AAAA", "kdf": "argon2id13", "iterations": 2, "memory": 1024,
        ]
        #expect(throws: SigningError.argon2("OutOfMemory()")) {
            try client("x", argon2: Argon2id { _, _, _, _ in throw OutOfMemory() }).answer(extra, dialect: .standard)
        }
    }

    @Test("a HELLO without a nonce gets no challenge")
    func hello() throws {
        let keys = try ScramKeys(password: "secret123", dialect: .standard, hash: .pbkdf2(iterations: 1000))
        for hello: ValueMap in [[:], ["nonce": ""], ["nonce": 7], ["nonce": "&&&&"], ["nonce": .text(String(repeating: "A", count: 1028))]]
        {
            #expect(throws: SigningError.field("nonce")) { try ScramChallenge(user: "x", keys: keys, hello: hello) }
        }
    }
}
