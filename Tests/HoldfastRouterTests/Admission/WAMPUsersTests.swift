import CodecCore
import Foundation
import HoldfastRouter
import Testing
import WAMPCore
import WAMPSigning

/// The challenges and decisions of a list of users.
@Suite struct WAMPUsersTests {
    private typealias Challenge = (
        method: String, extra: ValueMap, answer: @Sendable (String, ValueMap) async throws -> WAMPAdmission
    )

    private struct NotChallenged: Error {}

    private func challenge(_ users: WAMPUsers, _ details: ValueMap) async throws -> Challenge {
        let admission = try await users.examine(WAMPApplicant(realm: "realm1", details: details))
        guard case .challenged(let method, let extra, let answer) = admission else {
            throw NotChallenged()
        }
        return (method, extra, answer)
    }

    /// The authid of an accepted client, otherwise nil.
    private func name(_ admission: WAMPAdmission) -> String? {
        if case .accepted(let principal) = admission { principal.authID } else { nil }
    }

    @Test(arguments: [0, 1]) func `a user with two keys is accepted with either`(_ place: Int) async throws {
        let keys = [CryptosignKey(), CryptosignKey()]
        var users = WAMPUsers()
        for key in keys { users.add("eve", .cryptosign(publicKey: key.publicKey)) }
        for isNamed in [true, false] {
            var details: ValueMap = ["authmethods": ["cryptosign"], "authextra": ["pubkey": .text(keys[place].publicKey)]]
            if isNamed { details["authid"] = "eve" }
            let challenge = try await challenge(users, details)
            let admission = try await challenge.answer(try keys[place].answer(challenge.extra), ValueMap())
            #expect(self.name(admission) == "eve")
        }
    }

    @Test func `a new ticket replaces the old one`() async throws {
        var users = WAMPUsers()
        users.add("ann", .ticket("old"))
        users.add("ann", .ticket("new"))
        let challenge = try await challenge(users, ["authid": "ann", "authmethods": ["ticket"]])
        #expect(name(try await challenge.answer("new", ValueMap())) == "ann")
        #expect(name(try await challenge.answer("old", ValueMap())) == nil)
    }

    /// The challenge text of WAMP-CRA without its nonce.
    private func shown(_ extra: ValueMap) throws -> [String: String] {
        let text = try #require(extra["challenge"]?.string)
        var shown = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]).mapValues { "\($0)" }
        shown["nonce"] = nil
        shown["salt"] = extra["salt"]?.string.map { "\($0.count)" }
        shown["iterations"] = extra["iterations"]?.int.map { "\($0)" }
        return shown
    }

    @Test(arguments: [false, true])
    func `known and unknown users get the same form of challenge`(_ isSalted: Bool) async throws {
        var users = WAMPUsers()
        let salted = try ChallengeResponse.saltedSecret("hush", salt: "pepper", iterations: 2000)
        let secret = isSalted ? CRASecret(salted: salted, salt: "pepper", iterations: 2000) : CRASecret("hush")
        users.add("bob", .cra(secret), role: "backend")
        let challenges = try await [
            challenge(users, ["authid": "bob", "authmethods": ["ticket", "wampcra"]]),
            challenge(users, ["authid": "dan", "authmethods": ["ticket", "wampcra"]]),
        ]
        #expect(challenges.map(\.method) == ["wampcra", "wampcra"])
        var (known, unknown) = (try shown(challenges[0].extra), try shown(challenges[1].extra))
        #expect(known.removeValue(forKey: "authid") == "bob" && unknown.removeValue(forKey: "authid") == "dan")
        #expect(known == unknown && known["authrole"] == "backend")
        // A second request does not reveal it, either.
        let again = try await challenge(users, ["authid": "dan", "authmethods": ["wampcra"]])
        #expect(again.extra["salt"] == challenges[1].extra["salt"])
        let answer = try ChallengeResponse.answer(challenges[1].extra, secret: "hush")
        #expect(name(try await challenges[1].answer(answer, ValueMap())) == nil)
    }

    @Test(arguments: ScramDialect.allCases)
    func `SCRAM uses the dialect of the stored keys, and a HELLO without a nonce is refused`(_ dialect: ScramDialect) async throws {
        var users = WAMPUsers(anonymousRole: nil)
        users.add("ann", .scram(try ScramKeys(password: "sesame", dialect: dialect, hash: .pbkdf2(iterations: 1000))))
        let methods: Value = ["scram", "wamp-scram"]
        let hello = ScramClient(user: "ann", password: "sesame").extra
        let challenge = try await challenge(users, ["authid": "ann", "authmethods": methods, "authextra": .map(hello)])
        #expect(challenge.method == dialect.rawValue)
        let admission = try await users.examine(WAMPApplicant(realm: "realm1", details: ["authid": "ann", "authmethods": methods]))
        guard case .refused(let reason, _) = admission else { throw NotChallenged() }
        #expect(reason == WAMPURI.Error.authenticationFailed)
    }

    @Test func `a client is challenged only by methods that the user has`() async throws {
        var users = WAMPUsers()
        users.add("ann", .ticket("sesame"))
        for name in ["ann", "dan"] {
            let challenge = try await challenge(users, ["authid": .text(name), "authmethods": ["wampcra", "ticket"]])
            #expect(challenge.method == "ticket" && challenge.extra.isEmpty)
        }
    }

    @Test func `an excessively long HELLO is refused without a lookup`() async throws {
        var users = WAMPUsers(anonymousRole: nil)
        users.add("ann", .ticket("sesame"))
        let (many, name) = (
            Value.array(Array(repeating: .text("none"), count: 100_000) + [.text("ticket")]), String(repeating: "n", count: 257)
        )
        let details: [ValueMap] = [["authid": "ann", "authmethods": many], ["authid": .text(name), "authmethods": ["ticket"]]]
        for details in details {
            guard case .refused = try await users.examine(WAMPApplicant(realm: "realm1", details: details)) else {
                return #expect(Bool(false), "a lookup was made")
            }
        }
    }

    @Test func `an unknown key is challenged like a known one`() async throws {
        let key = CryptosignKey()
        var users = WAMPUsers()
        users.add("eve", .cryptosign(publicKey: CryptosignKey().publicKey))
        for name in ["eve", "dan"] {
            let details: ValueMap = [
                "authid": .text(name), "authmethods": ["cryptosign"], "authextra": ["pubkey": .text(key.publicKey)],
            ]
            let challenge = try await challenge(users, details)
            #expect(self.name(try await challenge.answer(try key.answer(challenge.extra), ValueMap())) == nil)
        }
    }

    /// Lists of one user, ann, each with another kind of proof.
    private static let lists: [WAMPUsers] = {
        let salted = (try? ChallengeResponse.saltedSecret("hush", salt: "c0ffee==", iterations: 2000)) ?? ""
        let proofs: [WAMPUsers.Proof?] = [
            .ticket("sesame"), .cra(CRASecret("hush")), .cra(CRASecret(salted: salted, salt: "c0ffee==", iterations: 2000)),
            .cryptosign(publicKey: CryptosignKey().publicKey),
            (try? ScramKeys(password: "sesame", dialect: .crossbar, hash: .pbkdf2(iterations: 1000))).map { .scram($0) },
            (try? ScramKeys(password: "sesame", dialect: .standard, hash: .pbkdf2(iterations: 1000))).map { .scram($0) },
        ]
        return proofs.compactMap(\.self).map { proof in
            var users = WAMPUsers(anonymousRole: nil)
            users.add("ann", proof, role: "backend")
            return users
        }
    }()

    @Test(arguments: 0..<6) func `no challenge reveals whether the user is known, for any offered methods`(_ number: Int) async throws {
        let users = try #require(Self.lists.count == 6 ? Self.lists[number] : nil)
        let methods = ["ticket", "wampcra", "cryptosign", "scram", "wamp-scram"]
        let nonce = ScramClient(user: "ann", password: "sesame").extra
        for first in methods {
            for second in methods {
                var shapes: [[String: String]] = []
                for name in ["ann", "dan"] {
                    var extra = nonce
                    extra["pubkey"] = .text(CryptosignKey().publicKey)
                    let details: ValueMap = [
                        "authid": .text(name), "authmethods": [.text(first), .text(second)], "authextra": .map(extra),
                    ]
                    let admission = try await users.examine(WAMPApplicant(realm: "realm1", details: details))
                    switch admission {
                    case .challenged(let method, let extra, let answer):
                        var shape = ["method": method]
                        for entry in extra.entries {
                            // Random and derived values must have the same length and padding, all others the same value.
                            let text = entry.value.string.map { "\($0.utf8.count)" + $0.filter { $0 == "=" } }
                            shape[entry.key.string ?? ""] = text ?? "\(entry.value)"
                        }
                        if method == "wampcra" {
                            shape["shown"] = try shown(extra).filter { $0.key != "authid" }.map { "\($0)=\($1)" }.sorted().joined()
                        }
                        shapes.append(shape)
                        #expect(self.name(try await answer("guess", ValueMap())) == nil)
                    case .refused(let reason, let message): shapes.append([reason: message])
                    case .accepted: Issue.record("accepted")
                    }
                }
                #expect(shapes.count == 2 && shapes[0] == shapes[1], "\(first), \(second)")
            }
        }
    }

    @Test func `with a key the challenges for unknown names are the same after a restart`() async throws {
        func salts(_ key: [UInt8]?) async throws -> [Value?] {
            var users = WAMPUsers(anonymousRole: nil, decoyKey: key)
            for name in ["ann", "bob"] { users.add(name, .cra(CRASecret(salted: "x", salt: "\(name)4567", iterations: 2000))) }
            var salts: [Value?] = []
            for number in 0..<5 {
                salts.append(try await challenge(users, ["authid": .text("dan\(number)"), "authmethods": ["wampcra"]]).extra["salt"])
            }
            return salts
        }
        let key = [UInt8](repeating: 1, count: 16)
        let (kept, again, first, second) = try await (salts(key), salts(key), salts(nil), salts(nil))
        #expect(kept == again && first != second)
    }

    @Test func `a name with an invisible character is refused`() async throws {
        var users = WAMPUsers(anonymousRole: nil)
        for name in ["ann", "ann\u{200B}"] { users.add(name, .ticket("sesame")) }
        for name in ["ann\u{200B}", "\u{202E}nna"] {
            let details: ValueMap = ["authid": .text(name), "authmethods": ["ticket"]]
            let admission = try await users.examine(WAMPApplicant(realm: "realm1", details: details))
            guard case .refused(WAMPURI.Error.authenticationFailed, _) = admission else { return #expect(Bool(false), "a lookup was made") }
        }
    }

    @Test func `unknown names are challenged like different users, and each name always alike`() async throws {
        var users = WAMPUsers(anonymousRole: "anonymous")
        users.add("ann", .ticket("sesame"))
        users.add("bob", .cra(CRASecret(salted: "x", salt: "0123abcd", iterations: 2000)))
        var seen: Set<String> = []
        for number in 0..<40 {
            let details: ValueMap = ["authid": .text("dan\(number)"), "authmethods": ["wampcra", "ticket", "anonymous"]]
            let (one, other) = (try await challenge(users, details), try await challenge(users, details))
            #expect(one.method == other.method && one.extra["salt"] == other.extra["salt"])
            if let salt = one.extra["salt"]?.string { #expect(salt.count == 8 && salt.allSatisfy { $0.isHexDigit && !$0.isUppercase }) }
            seen.insert(one.method + (one.extra["salt"]?.string ?? ""))
        }
        #expect(seen.contains("ticket") && seen.count > 5)
    }
}
