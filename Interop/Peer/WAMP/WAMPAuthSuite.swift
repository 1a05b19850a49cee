import HoldfastWAMP
import WAMPCore

/// Right and wrong secrets for every method of Crossbar in every serialization.
///
/// Each path of the router accepts one method.
struct WAMPAuthSuite: Sendable {
    let base: String
    let realm: String
    static let seed = "09c8461d35f708f09334e47adae36790561f0e68481b2a40236ffe75efe21bdf"

    private struct Trial: Sendable {
        let name: String
        let path: String
        let right: WAMPAuthentication
        let wrong: WAMPAuthentication?
        let user: String?
    }

    func run() async -> Bool {
        var allPassed = true
        do {
            for trial in try trials() {
                for serialization in WAMPSerialization.allCases {
                    await check(&allPassed, "\(serialization.rawValue): \(trial.name) joins") { try await joins(trial, serialization) }
                }
                if let wrong = trial.wrong {
                    await check(&allPassed, "\(trial.name) with a wrong secret is refused") { try await refused(trial, wrong) }
                }
            }
        } catch {
            await check(&allPassed, "trials") { throw error }
        }
        return allPassed
    }

    private func trials() throws -> [Trial] {
        var trials = [
            Trial(name: "anonymous", path: "anonymous", right: .anonymous, wrong: nil, user: nil),
            Trial(
                name: "ticket", path: "ticket", right: .ticket(user: "joe", ticket: "secret!!!"), wrong: .ticket(user: "joe", ticket: "no"),
                user: "joe"),
            Trial(
                name: "CRA", path: "wampcra", right: .cra(user: "peter", secret: "secret123"), wrong: .cra(user: "peter", secret: "no"),
                user: "peter"),
            Trial(
                name: "salted CRA", path: "wampcra", right: .cra(user: "paula", secret: "secret123"),
                wrong: .cra(user: "paula", secret: "no"), user: "paula"),
            Trial(
                name: "cryptosign", path: "cryptosign",
                right: .cryptosign(user: "client01", key: try CryptosignKey(hexadecimal: Self.seed)),
                wrong: .cryptosign(user: "client01", key: CryptosignKey()), user: "client01"),
            Trial(
                name: "SCRAM with PBKDF2", path: "scram", right: .scram(user: "dave", password: "secret123"),
                wrong: .scram(user: "dave", password: "no"), user: "dave"),
        ]
        #if canImport(Glibc)
            trials.append(
                Trial(
                    name: "SCRAM with Argon2id", path: "scram",
                    right: .scram(user: "carol", password: "secret123", argon2: LibArgon2.argon2id),
                    wrong: .scram(user: "carol", password: "no", argon2: LibArgon2.argon2id), user: "carol"))
        #endif
        return trials
    }

    private func joins(_ trial: Trial, _ serialization: WAMPSerialization) async throws {
        let client = WAMPClient("\(base)/\(trial.path)", realm: realm, authentication: trial.right) {
            WAMPOptions.prepare(&$0, [serialization])
        }
        let session = try await client.joined(within: .seconds(5))
        if let user = trial.user { try Suite.expect(session.authID, user) }
        await client.close()
    }

    private func refused(_ trial: Trial, _ wrong: WAMPAuthentication) async throws {
        let client = WAMPClient("\(base)/\(trial.path)", realm: realm, authentication: wrong)
        try await Suite.refusal(.dismissed) { try await client.joined(within: .seconds(5)) }
        await client.close()
    }

    private func check(_ allPassed: inout Bool, _ name: String, _ body: @escaping @Sendable () async throws -> Void) async {
        do {
            try await Suite.withDeadline(.seconds(15), body)
            print("ok \(name)")
        } catch {
            print("not ok \(name): \(error)")
            allPassed = false
        }
    }
}
