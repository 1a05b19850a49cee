import WAMPCore
public import WAMPSigning
import CodecCore

/// A fixed list of a router's users: anonymous clients, and users with proofs of identity.
///
/// ```swift
/// var users = WAMPUsers(anonymousRole: nil)
/// users.add("ann", .ticket("sesame"), role: "frontend")
/// users.add("bob", .cra(CRASecret("hush")))
/// ```
public struct WAMPUsers: WAMPAuthenticator {
    /// How a user proves its identity.
    public struct Proof: Sendable {
        fileprivate enum Kind: Sendable {
            case ticket(String)
            case cra(CRASecret)
            case cryptosign(String)
            case scram(ScramKeys)
        }
        fileprivate let kind: Kind
        /// The name of the method on the wire.
        public let method: String

        /// A ticket, which is sent unencrypted: use it over TLS only, unless its secrecy does not matter.
        public static func ticket(_ ticket: String) -> Proof { Proof(kind: .ticket(ticket), method: SigningMethod.ticket) }
        /// A secret that signs a challenge (WAMP-CRA).
        public static func cra(_ secret: CRASecret) -> Proof { Proof(kind: .cra(secret), method: SigningMethod.cra) }
        /// A private key; its public key is given as 64 hexadecimal digits.
        public static func cryptosign(publicKey: String) -> Proof {
            Proof(kind: .cryptosign(publicKey.lowercased()), method: SigningMethod.cryptosign)
        }
        /// A SCRAM password, whose keys are known, in the dialect for which they were made.
        public static func scram(_ keys: ScramKeys) -> Proof { Proof(kind: .scram(keys), method: keys.dialect.rawValue) }
    }
    private struct User: Sendable {
        let role: String
        let proof: Proof
        /// Whether the user is made up: every answer is rejected.
        var isDecoy = false
    }

    /// The role of clients that do not authenticate; nil to refuse them.
    public var anonymousRole: String?
    private var users: [String: [User]] = [:]
    /// The names on the list, all and by method.
    private var holders: [String?: [String]] = [:]
    /// Derives the challenges for users that are not on the list.
    private let decoys: Decoys
    /// All characters that occur in salts, by salt length.
    private var letters: [Int: Set<UInt8>] = [:]

    /// Creates a list without users.
    ///
    /// Only anonymous clients may join, by default with the role "anonymous".
    ///
    /// - Parameters:
    ///   - anonymousRole: The role of clients that do not authenticate; nil to refuse them.
    ///   - decoyKey: The secret from which challenges for users that are not on the list are derived: at least 16 bytes that nobody else
    ///   knows. With the same key, the challenges stay the same after a restart, like those of users whose salts are kept. Nil for a random
    ///   key.
    public init(anonymousRole: String? = "anonymous", decoyKey: [UInt8]? = nil) {
        (self.anonymousRole, decoys) = (anonymousRole, decoyKey.map { Decoys(key: $0) } ?? Decoys())
    }

    /// Adds a user, or another proof of an existing one.
    ///
    /// A user may have several keys, and one proof of each other method: a later one replaces it. Users whose name or role contains an
    /// invisible character, such as one that changes the text direction, are refused.
    public mutating func add(_ name: String, _ proof: Proof, role: String = "user") {
        users[name]?.removeAll { $0.proof.method == proof.method && $0.proof.publicKey == proof.publicKey }
        users[name, default: []].append(User(role: role, proof: proof))
        if case .cra(let secret) = proof.kind, let salt = secret.salt { letters[salt.utf8.count, default: []].formUnion(salt.utf8) }
        for method in [nil, proof.method] where holders[method]?.contains(name) != true { holders[method, default: []].append(name) }
    }

    /// Admits clients that are anonymous or on the list, by the first offered method that fits.
    ///
    /// An unknown user is challenged like a user of the list that is chosen by the name: with the same methods, role and kind of salt, and
    /// always in the same way. A client therefore cannot find out whether a user exists.
    public func examine(_ applicant: WAMPApplicant) async throws -> WAMPAdmission {
        // Limits the cost of a HELLO from any client: only a few methods are examined, and impossible names cost nothing.
        let methods = applicant.methods.isEmpty ? [SigningMethod.anonymous] : Array(applicant.methods.prefix(Self.mostMethods))
        guard applicant.authID?.utf8.count ?? 0 <= Self.longestName, applicant.authID?.firstHidden == nil else { return .unproven }
        let key = applicant.extra["pubkey"]?.string?.lowercased()
        for method in methods {
            if method == SigningMethod.anonymous {
                guard let anonymousRole else { continue }
                return .accepted(RouterPrincipal(authRole: anonymousRole))
            }
            guard let name = name(of: applicant, method) else { continue }
            let user = entries(of: name).first { user in
                // Of several keys, the one that the client announces.
                user.proof.method == method && (key == nil || user.proof.publicKey == nil || user.proof.publicKey == key)
            }
            if let user { return challenge(name, user, applicant) }
        }
        // No offered method fits this user: it is challenged with the first method that any user has, and rejected.
        for method in methods {
            let name = applicant.authID ?? ""
            guard let like = like(name, having: method), let proof = like.first(where: { $0.proof.method == method }) else { continue }
            return challenge(name, decoy(of: name, like: proof, of: like), applicant)
        }
        return .refused(reason: WAMPURI.Error.noMatchingAuthMethod, message: "none of the offered methods is supported")
    }

    /// The maximum number of methods examined per HELLO.
    private static let mostMethods = 8
    /// The maximum length of a name in bytes.
    private static let longestName = 256

    /// Returns the entries of a user, or decoys if it is not on the list.
    ///
    /// Both are computed, so that the time does not differ.
    private func entries(of name: String) -> [User] {
        let decoys = like(name, having: nil).map { list in list.map { decoy(of: name, like: $0, of: list) } }
        return users[name] ?? decoys ?? []
    }

    /// Returns the listed user whose entries serve as the model for an unknown name.
    private func like(_ name: String, having method: String?) -> [User]? {
        guard let names = holders[method], !names.isEmpty else { return nil }
        return users[names[decoys.place(of: name, among: names.count)]]
    }

    private func decoy(of name: String, like user: User, of list: [User]) -> User {
        let kind: Proof.Kind =
            switch user.proof.kind {
            case .ticket: .ticket(decoys.secret(of: name))
            case .cra(let secret): .cra(decoys.secret(of: name, like: secret, letters: letters[secret.salt?.utf8.count ?? 0] ?? []))
            case .cryptosign: .cryptosign(decoys.publicKey(of: name))
            case .scram(let keys): .scram(decoys.keys(of: name, like: keys, salts: list.compactMap(\.proof.salt)))
            }
        return User(role: user.role, proof: Proof(kind: kind, method: user.proof.method), isDecoy: true)
    }

    /// Returns the name of the applicant.
    ///
    /// A client with a key need not give one.
    private func name(of applicant: WAMPApplicant, _ method: String) -> String? {
        if let name = applicant.authID { return name }
        guard method == SigningMethod.cryptosign, let key = applicant.extra["pubkey"]?.string?.lowercased() else { return nil }
        return users.filter { $0.value.contains { $0.proof.publicKey == key } }.keys.min()
    }

    private func challenge(_ name: String, _ user: User, _ applicant: WAMPApplicant) -> WAMPAdmission {
        let (method, isDecoy) = (user.proof.method, user.isDecoy)
        let principal = RouterPrincipal(authID: name, authRole: user.role, authMethod: method, authProvider: "static")
        // Decoys are checked as well, so that the time does not differ.
        @Sendable func verdict(_ isGenuine: Bool) -> WAMPAdmission { isGenuine && !isDecoy ? .accepted(principal) : .unproven }
        switch user.proof.kind {
        case .ticket(let known):
            return .challenged(method: method, extra: ValueMap()) { ticket, _ in verdict(Ticket.isGenuine(ticket, known: known)) }
        case .cra(let secret):
            let challenge = CRAChallenge(authID: name, authRole: user.role, secret: secret)
            return .challenged(method: method, extra: challenge.extra) { answer, _ in verdict(challenge.isAnswered(by: answer)) }
        case .cryptosign(let key):
            guard let challenge = CryptosignChallenge(publicKey: key) else { return .unproven }
            return .challenged(method: method, extra: challenge.extra) { answer, _ in verdict(challenge.isAnswered(by: answer)) }
        case .scram(let keys):
            // A client may send a HELLO without a nonce.
            guard let challenge = try? ScramChallenge(user: name, keys: keys, hello: applicant.extra) else { return .unproven }
            return .challenged(method: method, extra: challenge.extra) { answer, _ in
                guard let extra = challenge.welcome(answer: answer), !isDecoy else { return .unproven }
                var principal = principal
                principal.authExtra = extra
                return .accepted(principal)
            }
        }
    }
}

extension WAMPUsers.Proof: CustomStringConvertible, CustomReflectable {
    /// The method, without the secret.
    public var description: String { "a proof by \(method)" }
    /// An empty mirror, so that neither `dump` nor a crash report reveals secrets.
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    fileprivate var salt: [UInt8]? { if case .scram(let keys) = kind { keys.salt } else { nil } }
    fileprivate var publicKey: String? { if case .cryptosign(let key) = kind { key } else { nil } }
}

extension WAMPAdmission {
    fileprivate static let unproven = WAMPAdmission.refused(
        reason: WAMPURI.Error.authenticationFailed, message: "the proof of identity is invalid")
}
