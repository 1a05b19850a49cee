import CodecCore
import WebSocketRuntime
import Testing
import WAMPCore
import WAMPSigning

@testable import HoldfastWAMP

@Suite("WAMPAuthentication")
struct WAMPAuthenticationTests {
    private struct TokenServiceIsDown: Error {}

    @Test("each method is offered under its names on the wire, the strongest first")
    func methods() {
        let key = CryptosignKey()
        #expect(WAMPAuthentication.anonymous.methods == ["anonymous"])
        #expect(WAMPAuthentication.ticket(user: "joe", ticket: "t").methods == ["ticket"])
        #expect(WAMPAuthentication.cra(user: "joe", secret: "s").methods == ["wampcra"])
        #expect(WAMPAuthentication.cryptosign(key: key).methods == ["cryptosign"])
        #expect(WAMPAuthentication.scram(user: "joe", password: "p").methods == ["scram", "wamp-scram"])
        let mixed = WAMPAuthentication.any(of: .scram(user: "joe", password: "p"), .ticket(user: "joe", ticket: "t"))
        #expect(mixed.methods == ["scram", "ticket", "wamp-scram"])
        let any = WAMPAuthentication.any(of: .cryptosign(key: key), .cra(user: "joe", secret: "s").role("admin"), .anonymous)
        #expect(any.methods == ["cryptosign", "wampcra", "anonymous"])
        #expect(any.authID == "joe")
        #expect(any.authRole == "admin")
    }

    @Test("a ticket is fetched anew for each join")
    func tickets() async throws {
        let made = LockedValue(0)
        let authentication = WAMPAuthentication.ticket(user: "joe") {
            made.withLockedValue { made in
                made += 1
                return "ticket \(made)"
            }
        }
        for number in 1...2 {
            let proof = try await WAMPIdentification(authentication).prove(method: "ticket", extra: [:])
            #expect(proof.signature == "ticket \(number)")
            #expect(proof.extra.isEmpty)
        }
    }

    @Test("a failure to fetch a ticket is the error of the app")
    func provider() async {
        let authentication = WAMPAuthentication.ticket(user: "joe") { throw TokenServiceIsDown() }
        await #expect(throws: TokenServiceIsDown.self) {
            try await WAMPIdentification(authentication).prove(method: "ticket", extra: [:])
        }
    }

    @Test("challenges of WAMP-CRA and Cryptosign are answered")
    func challenges() async throws {
        let key = CryptosignKey()
        let identification = WAMPIdentification(.any(of: .cra(user: "joe", secret: "s"), .cryptosign(key: key)))
        #expect(identification.extra["pubkey"] == .text(key.publicKey))
        let cra = CRAChallenge(authID: "joe", authRole: "user", secret: CRASecret("s"))
        #expect(cra.isAnswered(by: try await identification.prove(method: "wampcra", extra: cra.extra).signature))
        let signed = try #require(CryptosignChallenge(publicKey: key.publicKey))
        #expect(signed.isAnswered(by: try await identification.prove(method: "cryptosign", extra: signed.extra).signature))
        #expect(!identification.check(details: [:]))
    }

    @Test("both SCRAM dialects authenticate both sides with a nonce that is used once", arguments: ScramDialect.allCases)
    func scram(dialect: ScramDialect) async throws {
        let authentication = WAMPAuthentication.scram(user: "joe", password: "p")
        let keys = try ScramKeys(password: "p", dialect: dialect, hash: .pbkdf2(iterations: 1000))
        let (identification, other) = (WAMPIdentification(authentication), WAMPIdentification(authentication))
        #expect(identification.extra["nonce"] != other.extra["nonce"])
        let challenge = try ScramChallenge(user: "joe", keys: keys, hello: identification.extra)
        let proof = try await identification.prove(method: dialect.rawValue, extra: challenge.extra)
        let welcome = try #require(challenge.welcome(answer: proof.signature))
        #expect(identification.check(details: ["authextra": .map(welcome)]))
        #expect(!identification.check(details: ["authextra": [:]]))
        // A challenge for another HELLO does not match.
        await #expect(throws: SigningError.foreignNonce) { try await other.prove(method: dialect.rawValue, extra: challenge.extra) }
    }

    @Test("a challenge by a method that was not offered gets no answer", arguments: ["ticket", "cryptosign", "scram", "anonymous", ""])
    func notOffered(method: String) async {
        let identification = WAMPIdentification(.cra(user: "joe", secret: "s"))
        await #expect(throws: SigningError.notOffered(method)) { try await identification.prove(method: method, extra: ["challenge": "c"]) }
    }

    @Test("the app limits the cost of hashing a password")
    func costs() async throws {
        var authentication = WAMPAuthentication.cra(user: "joe", secret: "s")
        authentication.costs.iterations = 1...10
        let identification = WAMPIdentification(authentication)
        await #expect(throws: SigningError.cost("iterations", 1000)) {
            try await identification.prove(method: "wampcra", extra: ["challenge": "c", "salt": "pepper"])
        }
        _ = try await identification.prove(method: "wampcra", extra: ["challenge": "c", "salt": "pepper", "iterations": 10])
    }

    @Test("descriptions and dumps contain no secret")
    func secrecy() {
        let key = CryptosignKey()
        for authentication: WAMPAuthentication in [
            .ticket(user: "joe", ticket: "hush"), .cra(user: "joe", secret: "hush"), .scram(user: "joe", password: "hush"),
            .cryptosign(user: "joe", key: key), .any(of: .cra(user: "joe", secret: "hush"), .ticket(user: "joe", ticket: "hush")),
        ] {
            var text = "\(authentication) \(String(reflecting: authentication)) "
            dump(authentication, to: &text)
            #expect(!text.contains("hush"))
            #expect(!text.contains("\(key.seed)"))
            #expect(text.contains("joe"))
        }
    }
}
