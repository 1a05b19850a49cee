import Foundation
import JWTKit
import Logging
import RoomCore
import Testing

@testable import HoldfastHub

/// Which tokens the verifier accepts.
@Suite(.timeLimit(.minutes(2))) struct TokenVerifierTests {
    private static let secret = Array("a secret of more than thirty-two bytes".utf8)
    private static let now = 1_800_000_000.0
    private static let rsa = try? Insecure.RSA.PrivateKey(pem: TestKeys.rsa)
    private let es256 = ES256PrivateKey()

    /// The claims of a test token.
    private struct Claims: JWTPayload {
        var sub: String? = "ann"
        var exp: Double? = TokenVerifierTests.now + 60
        var nbf: Double?
        var iat: Double?
        var iss: String?
        var aud: [String]?
        var rooms: [String: String]? = ["team-*": "rw", "lobby": "r"]

        func verify(using algorithm: some JWTAlgorithm) {}
    }

    private func verifier(_ keys: [TokenKey], _ rules: TokenRules = TokenRules()) -> TokenVerifier {
        TokenVerifier(source: FixedTokenKeys(keys: keys), rules: rules, now: { Self.now })
    }

    private func signed(_ claims: Claims, _ secret: [UInt8] = Self.secret, header: JWTHeader = JWTHeader()) async throws -> String {
        let keys = await JWTKeyCollection().add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256)
        return try await keys.sign(claims, header: header)
    }

    private func refusal(of token: String?, _ keys: [TokenKey], _ rules: TokenRules = TokenRules()) async -> TokenRefusal.Reason? {
        do throws(TokenRefusal) {
            _ = try await verifier(keys, rules).identify(token, isLocal: true)
            return nil
        } catch {
            return error.reason
        }
    }

    @Test func `a token gives the user, the rights and the expiry`() async throws {
        let token = try await signed(Claims())
        let identity = try await verifier([.secret(Self.secret)]).identify(token, isLocal: false)
        #expect(identity.user.text == "ann")
        #expect(identity.expires == Int64(Self.now + 60 + 30) * 1000)
        let rooms = try ["team-1", "lobby", "other"].map { try #require(RoomName($0)) }
        #expect(rooms.map(identity.rights) == [[.read, .write], [.read], []])
    }

    @Test func `tokens of all four algorithms are accepted`() async throws {
        let (eddsa, rsa) = (try EdDSA.PrivateKey(), try #require(Self.rsa))
        let collections: [(JWTKeyCollection, TokenKey)] = [
            (await JWTKeyCollection().add(ecdsa: es256), try await .pem(es256.publicKey.pemRepresentation)),
            (await JWTKeyCollection().add(rsa: rsa, digestAlgorithm: .sha256), try await .pem(rsa.publicKey.pemRepresentation)),
            (await JWTKeyCollection().add(eddsa: eddsa), try await .pem(eddsa.publicKey.pemRepresentation)),
        ]
        #expect(collections.map(\.1.algorithm) == [.es256, .rs256, .edDSA])
        for (collection, key) in collections {
            let token = try await collection.sign(Claims())
            #expect(await refusal(of: token, [key]) == nil, "\(key.algorithm)")
            #expect(try await refusal(of: token, [.secret(Self.secret)]) == .algorithm)
        }
    }

    @Test func `a missing, malformed or truncated token is refused`() async throws {
        let keys = [try await TokenKey.secret(Self.secret)]
        let token = try await signed(Claims())
        #expect(await refusal(of: nil, keys) == .missing)
        #expect(await refusal(of: "", keys) == .missing)
        for text in ["dev:ann", "a.b", "a.b.c", "a.b.c.d", "é.é.é", "..", String(token.dropLast(40)) + ".x"] {
            #expect(await refusal(of: text, keys) == .malformed, "\(text)")
        }
        #expect(await refusal(of: String(token.dropLast(4)), keys) == .signature)
    }

    @Test func `a signature of another key and a changed token are refused`() async throws {
        let keys = [try await TokenKey.secret(Self.secret)]
        #expect(try await refusal(of: signed(Claims(), Self.secret.reversed()), keys) == .signature)
        let parts = try await signed(Claims()).split(separator: ".").map(String.init)
        let other = try await signed(Claims(sub: "bob")).split(separator: ".").map(String.init)
        #expect(await refusal(of: [parts[0], other[1], parts[2]].joined(separator: "."), keys) == .signature)
    }

    private func raw(_ header: String, _ claims: String, _ signature: [UInt8] = []) -> String {
        [Data(header.utf8), Data(claims.utf8), Data(signature)].map {
            $0.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        }.joined(separator: ".")
    }

    @Test(arguments: ["none", "None", "NONE", "HS512", "PS256", ""])
    func `unsupported algorithms are refused`(name: String) async throws {
        let token = raw("{\"alg\":\"\(name)\"}", "{\"sub\":\"ann\",\"exp\":9999999999}")
        #expect(try await refusal(of: token, [.secret(Self.secret)]) == .algorithm)
    }

    @Test func `a public key is not accepted as an HMAC secret (key confusion)`() async throws {
        let rsa = try #require(Self.rsa)
        let pem = rsa.publicKey.pemRepresentation
        let token = try await signed(Claims(), Array(pem.utf8))
        #expect(try await refusal(of: token, [.pem(pem)]) == .algorithm)
    }

    @Test func `a token with unknown critical headers is refused`() async throws {
        let token = raw("{\"alg\":\"HS256\",\"crit\":[\"b64\"]}", "{}")
        #expect(try await refusal(of: token, [.secret(Self.secret)]) == .algorithm)
    }

    @Test func `a token that names a key is checked with that key only`() async throws {
        let (one, two) = (Self.secret + [1], Self.secret + [2])
        let keys = [try await TokenKey.secret(one, id: "one"), try await TokenKey.secret(two, id: "two")]
        #expect(try await refusal(of: signed(Claims(), two, header: ["kid": "two"]), keys) == nil)
        #expect(try await refusal(of: signed(Claims(), two, header: ["kid": "one"]), keys) == .signature)
        #expect(try await refusal(of: signed(Claims(), two, header: ["kid": "three"]), keys) == .algorithm)
        #expect(try await refusal(of: signed(Claims(), two), keys) == nil)
    }

    @Test func `expiry and start times are checked, with some leeway`() async throws {
        let keys = [try await TokenKey.secret(Self.secret)]
        func outcome(_ claims: Claims) async throws -> TokenRefusal.Reason? { await refusal(of: try await signed(claims), keys) }
        #expect(try await outcome(Claims(exp: Self.now - 29)) == nil)
        #expect(try await outcome(Claims(exp: Self.now - 30)) == .expired)
        #expect(try await outcome(Claims(nbf: Self.now + 30)) == nil)
        #expect(try await outcome(Claims(nbf: Self.now + 31)) == .early)
        #expect(try await outcome(Claims(exp: nil)) == .claims)
        var rules = TokenRules()
        rules.requiresExpiry = false
        #expect(try await refusal(of: signed(Claims(exp: nil)), keys, rules) == nil)
    }

    @Test(arguments: ["ann\u{202E}", "a\u{200B}nn", "\u{2066}ann", "ann\u{E0041}", "a\u{200D}nn", "\u{FEFF}ann", "ann\u{FE0F}"])
    func `a user with invisible characters is refused with a reason, unless the rules allow it`(user: String) async throws {
        let (key, token) = (try await TokenKey.secret(Self.secret), try await signed(Claims(sub: user)))
        do throws(TokenRefusal) {
            _ = try await verifier([key]).identify(token, isLocal: true)
            Issue.record("the token was accepted")
        } catch {
            #expect(error.reason == .claims && error.description.contains("invisible character (U+"))
        }
        var rules = TokenRules()
        rules.allowsHiddenCharacters = true
        #expect(await refusal(of: token, [key], rules) == nil)
    }

    @Test func `a time in milliseconds is refused with a reason`() async throws {
        let key = try await TokenKey.secret(Self.secret)
        let tenYears: Double = 10 * 365.25 * 86_400
        let wrong = [
            Claims(exp: (Self.now + 60) * 1000), Claims(nbf: Self.now * 1000), Claims(iat: Self.now * 1000),
            Claims(exp: Self.now + tenYears + 1), Claims(exp: 1e300),
        ]
        for claims in wrong {
            do throws(TokenRefusal) {
                _ = try await verifier([key]).identify(try? signed(claims), isLocal: true)
                Issue.record("the token was accepted")
            } catch {
                #expect(error.reason == .claims && error.description.contains("in milliseconds?"))
            }
        }
        #expect(try await refusal(of: signed(Claims(exp: Self.now + tenYears, iat: Self.now)), [key]) == nil)
    }

    @Test func `issuer and audience must match the configured ones`() async throws {
        let keys = [try await TokenKey.secret(Self.secret)]
        var rules = TokenRules()
        (rules.issuer, rules.audience) = ("us", "rooms")
        #expect(try await refusal(of: signed(Claims(iss: "us", aud: ["other", "rooms"])), keys, rules) == nil)
        #expect(try await refusal(of: signed(Claims(iss: "them", aud: ["rooms"])), keys, rules) == .foreign)
        #expect(try await refusal(of: signed(Claims(iss: "us", aud: ["other"])), keys, rules) == .foreign)
        #expect(try await refusal(of: signed(Claims()), keys, rules) == .foreign)
    }

    @Test func `a token without a user, or with claims of a wrong type, is refused`() async throws {
        let keys = [try await TokenKey.secret(Self.secret)]
        #expect(try await refusal(of: signed(Claims(sub: nil)), keys) == .claims)
        #expect(try await refusal(of: signed(Claims(sub: "")), keys) == .claims)
        #expect(try await refusal(of: signed(Claims(sub: String(repeating: "x", count: 129))), keys) == .claims)
    }

    @Test func `usable keys of a key set are read, and the others are skipped`() async throws {
        let parameters = try #require(es256.publicKey.parameters)
        func url(_ text: String) -> String { text.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "") }
        let json = """
            {"keys": [{"kty": "EC", "crv": "P-256", "kid": "e", "x": "\(url(parameters.x))", "y": "\(url(parameters.y))"},
             {"kty": "oct", "kid": "o", "alg": "HS256", "k": "\(url(Data(Self.secret).base64EncodedString()))"},
             {"kty": "EC", "crv": "P-521", "kid": "later", "x": "", "y": ""}, {"kty": "RSA", "use": "enc", "kid": "enc"}]}
            """
        let keys = try await TokenKey.set(Array(json.utf8))
        #expect(keys.map(\.id) == ["e", "o"])
        let token = try await JWTKeyCollection().add(ecdsa: es256).sign(Claims(), header: ["kid": "e"])
        #expect(await refusal(of: token, keys) == nil)
        #expect(try await refusal(of: signed(Claims(), header: ["kid": "o"]), keys) == nil)
    }

    @Test func `unusable keys are reported as errors`() async throws {
        await #expect(throws: HubError.self) { try await TokenKey.secret([1, 2, 3]) }
        await #expect(throws: HubError.self) { try await TokenKey.pem("nonsense") }
        await #expect(throws: HubError.self) { try await TokenKey.pem(ES256PrivateKey().pemRepresentation) }
        for json in ["{}", "{\"keys\":[]}", "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\"}]}"] {
            await #expect(throws: HubError.self, "\(json)") { try await TokenKey.set(Array(json.utf8)) }
        }
    }

    @Test func `a changed key file is read again, and an invalid one keeps the earlier keys`() async throws {
        let directory = try HubDirectory()
        let path = try directory.write("secret", String(decoding: Self.secret, as: UTF8.self) + "\n")
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        var rules = TokenRules()
        rules.requiresExpiry = false
        let verifier = try await TokenVerifier(files: [.secret(path)], rules: rules, logger: logger)
        let (old, other) = (try await signed(Claims(exp: nil)), Self.secret + [7])
        let new = try await signed(Claims(exp: nil), other)
        func takes(_ token: String) async -> Bool { (try? await verifier.identify(token, isLocal: false)) != nil }
        #expect(await takes(old))
        #expect(await !takes(new))
        _ = try directory.write("secret", String(decoding: other, as: UTF8.self))
        #expect(await takes(new))
        #expect(await !takes(old))
        _ = try directory.write("secret", "short")
        #expect(await takes(new))
    }

    @Test func `development tokens are accepted only from this machine, and only if enabled`() async throws {
        func outcome(_ token: String?, isOn: Bool = true, isLocal: Bool = true) async -> TokenRefusal.Reason? {
            do throws(TokenRefusal) {
                let identity = try await DevelopmentAuthority(other: nil, isOn: isOn).identify(token, isLocal: isLocal)
                #expect(identity.user.text == "ann" && identity.rights(in: .abc) == .member)
                return nil
            } catch {
                return error.reason
            }
        }
        #expect(await outcome("dev:ann") == nil)
        #expect(await outcome("dev:ann", isOn: false) == .development)
        #expect(await outcome("dev:ann", isLocal: false) == .development)
        #expect(await outcome("dev:") == .malformed)
        #expect(await outcome(nil) == .missing)
        #expect(await outcome("a.b.c") == .algorithm)
    }
}
