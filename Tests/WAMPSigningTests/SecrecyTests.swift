import CodecCore
import MachineCore
import Testing

@testable import WAMPSigning

@Suite("Secrecy")
struct SecrecyTests {
    @Test("descriptions and dumps of types with secrets contain none")
    func secrets() throws {
        let key = CryptosignKey()
        let client = ScramClient(user: "joe", password: "hush")
        let scramKeys = try ScramKeys(password: "hush", dialect: .standard, hash: .pbkdf2(iterations: 1000), salt: [1, 2, 3, 4])
        let challenge = try ScramChallenge(user: "joe", keys: scramKeys, hello: client.extra)
        let answer = try client.answer(challenge.extra, dialect: .standard)
        let cra = CRAChallenge(authID: "joe", authRole: "user", secret: CRASecret("hush"))
        let signature = try ChallengeResponse.answer(cra.extra, secret: "hush")
        let secrets = [
            "hush", Hexadecimal.text(key.seed), "\(key.seed)", answer.signature, signature, "\(scramKeys.storedKey)",
            "\(scramKeys.serverKey)",
            Hexadecimal.text(scramKeys.storedKey),
        ]
        let salted = CRASecret(salted: "hush", salt: "s")
        let things: [Any] = [key, client, scramKeys, challenge, answer, cra, CRASecret("hush"), salted]
        for thing in things {
            var text = "\(thing) \(String(reflecting: thing)) "
            dump(thing, to: &text)
            for secret in secrets { #expect(!text.contains(secret), "\(type(of: thing)) contains a secret") }
        }
    }

    @Test("tickets are compared correctly for all lengths")
    func tickets() {
        #expect(Ticket.isGenuine("secret!!!", known: "secret!!!"))
        #expect(!Ticket.isGenuine("secret!!", known: "secret!!!"))
        #expect(!Ticket.isGenuine("", known: "secret!!!"))
        #expect(Ticket.isGenuine("", known: ""))
    }
}
