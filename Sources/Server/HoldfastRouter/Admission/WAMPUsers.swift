import WAMPCore
public import WAMPSigning
import CodecCore

/// The users of a router, as a list that does not change: anonymous ones, and those who can prove who they are.
///
/// ```swift
/// var users = WAMPUsers(anonymousRole: nil)
/// users.add("ann", .ticket("sesame"), role: "frontend")
/// users.add("bob", .cra(CRASecret("hush")))
/// ```
public struct WAMPUsers: WAMPAuthenticator {
    /// How a user proves who it is.
    public struct Proof: Sendable {
        fileprivate enum Kind: Sendable {
            case ticket(String)
            case cra(CRASecret)
            case cryptosign(String)
            case scram(ScramKeys)
        }
        fileprivate let kind: Kind
        /// What the wire calls it.
        public let method: String

        /// By a ticket, which crosses the wire as it is: over TLS only, unless it does not matter.
        public static func ticket(_ ticket: String) -> Proof { Proof(kind: .ticket(ticket), method: SigningMethod.ticket) }
        /// By a secret, which signs a challenge (WAMP-CRA).
        public static func cra(_ secret: CRASecret) -> Proof { Proof(kind: .cra(secret), method: SigningMethod.cra) }
        /// By a private key, whose public half is given in 64 hexadecimal digits.
        public static func cryptosign(publicKey: String) -> Proof {
            Proof(kind: .cryptosign(publicKey.lowercased()), method: SigningMethod.cryptosign)
        }
        /// By a password of SCRAM, of which its keys are known, in the dialect that they were made for.
        public static func scram(_ keys: ScramKeys) -> Proof { Proof(kind: .scram(keys), method: keys.dialect.rawValue) }
    }
    private struct User: Sendable {
        let role: String
        let proof: Proof
    }

    /// As what clients join that do not say who they are; nil: they may not.
    public var anonymousRole: String?
    private var users: [String: [User]] = [:]
    /// What the salts follow from that those are told who are not on the list.
    private let decoySeed = "\(UInt64.random(in: 0 ... .max))"

    /// Nobody but anonymous clients, with a role of that name unless told otherwise.
    public init(anonymousRole: String? = "anonymous") { self.anonymousRole = anonymousRole }

    /// Adds a user, or another proof of the same one.
    ///
    /// A user may have many keys, and one proof of each other method: a later one takes its place.
    public mutating func add(_ name: String, _ proof: Proof, role: String = "user") {
        users[name]?.removeAll { $0.proof.method == proof.method && $0.proof.publicKey == proof.publicKey }
        users[name, default: []].append(User(role: role, proof: proof))
    }

    /// Lets in who is anonymous or on the list, by the first of the offered methods that fits.
    public func examine(_ applicant: WAMPApplicant) async throws -> WAMPAdmission {
        let methods = applicant.methods.isEmpty ? [SigningMethod.anonymous] : applicant.methods
        var isKnown = false
        for method in methods {
            if method == SigningMethod.anonymous {
                guard let anonymousRole else { continue }
                return .accepted(RouterPrincipal(authRole: anonymousRole))
            }
            guard users.values.contains(where: { $0.contains { $0.proof.method == method } }) else { continue }
            isKnown = true
            guard let name = name(of: applicant, method) else { continue }
            let key = applicant.extra["pubkey"]?.string?.lowercased()
            let user = users[name]?.first { user in
                // Of several keys the one that the client says it has.
                user.proof.method == method && (key == nil || user.proof.publicKey == nil || user.proof.publicKey == key)
            }
            if let user { return challenge(name, user, applicant) }
        }
        guard isKnown else {
            return .refused(reason: WAMPURI.Error.noMatchingAuthMethod, message: "none of the offered methods is known here")
        }
        return decoy(methods, applicant)
    }

    /// A client with a key need not say who it is.
    private func name(of applicant: WAMPApplicant, _ method: String) -> String? {
        if let name = applicant.authID { return name }
        guard method == SigningMethod.cryptosign, let key = applicant.extra["pubkey"]?.string?.lowercased() else { return nil }
        return users.filter { $0.value.contains { $0.proof.publicKey == key } }.keys.min()
    }

    private func challenge(_ name: String, _ user: User, _ applicant: WAMPApplicant) -> WAMPAdmission {
        let method = user.proof.method
        let principal = RouterPrincipal(authID: name, authRole: user.role, authMethod: method, authProvider: "static")
        switch user.proof.kind {
        case .ticket(let known):
            return .challenged(method: method, extra: ValueMap()) { ticket, _ in
                Ticket.isGenuine(ticket, known: known) ? .accepted(principal) : .unproven
            }
        case .cra(let secret):
            let challenge = CRAChallenge(authID: name, authRole: user.role, secret: secret)
            return .challenged(method: method, extra: challenge.extra) { answer, _ in
                challenge.isAnswered(by: answer) ? .accepted(principal) : .unproven
            }
        case .cryptosign(let key):
            guard let challenge = CryptosignChallenge(publicKey: key) else { return .unproven }
            return .challenged(method: method, extra: challenge.extra) { answer, _ in
                challenge.isAnswered(by: answer) ? .accepted(principal) : .unproven
            }
        case .scram(let keys):
            // Anybody may say hello without a nonce.
            guard let challenge = try? ScramChallenge(user: name, keys: keys, hello: applicant.extra) else { return .unproven }
            return .challenged(method: method, extra: challenge.extra) { answer, _ in
                guard let extra = challenge.welcome(answer: answer) else { return .unproven }
                var principal = principal
                principal.authExtra = extra
                return .accepted(principal)
            }
        }
    }

    /// Who is not on the list is challenged like those who are, so that names cannot simply be tried; not with SCRAM, which needs keys.
    ///
    /// With WAMP-CRA like the first by name of those users, for a challenge says a role, and perhaps a salt.
    private func decoy(_ methods: [String], _ applicant: WAMPApplicant) -> WAMPAdmission {
        for method in methods {
            let likes = users.filter { $0.value.contains { $0.proof.method == method } }.min { $0.key < $1.key }?.value
            guard let like = likes?.first(where: { $0.proof.method == method }) else { continue }
            switch like.proof.kind {
            case .ticket: return .challenged(method: method, extra: ValueMap()) { _, _ in .unproven }
            case .cra(let secret):
                let name = applicant.authID ?? ""
                var extra = CRAChallenge(authID: name, authRole: like.role, secret: secret).extra
                if let salt = extra["salt"]?.string { extra["salt"] = .text(decoySalt(for: name, like: salt)) }
                return .challenged(method: method, extra: extra) { _, _ in .unproven }
            case .cryptosign(let key):
                guard let nobody = CryptosignChallenge(publicKey: key) else { continue }
                return .challenged(method: method, extra: nobody.extra) { _, _ in .unproven }
            case .scram: continue
            }
        }
        return .unproven
    }

    /// The same whenever a name is tried, and another for each.
    private func decoySalt(for name: String, like salt: String) -> String {
        String(((try? ChallengeResponse.saltedSecret(name, salt: decoySeed, iterations: 1)) ?? decoySeed).prefix(salt.count))
    }
}

extension WAMPUsers.Proof: CustomStringConvertible, CustomReflectable {
    /// By which method, not with what.
    public var description: String { "a proof by \(method)" }
    /// Nothing: neither `dump` nor a crash report tells secrets.
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    fileprivate var publicKey: String? { if case .cryptosign(let key) = kind { key } else { nil } }
}

extension WAMPAdmission {
    fileprivate static let unproven = WAMPAdmission.refused(
        reason: WAMPURI.Error.authenticationFailed, message: "that is no proof of who you are")
}
