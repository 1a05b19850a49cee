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
        /// Made up: whatever is answered proves nothing.
        var isDecoy = false
    }

    /// As what clients join that do not say who they are; nil: they may not.
    public var anonymousRole: String?
    private var users: [String: [User]] = [:]
    /// The names on the list, all and by method.
    private var holders: [String?: [String]] = [:]
    /// What follows from it is what those are told who are not on the list.
    private let decoys: Decoys
    /// All characters of salts, by their length.
    private var letters: [Int: Set<UInt8>] = [:]

    /// Nobody but anonymous clients, with a role of that name unless told otherwise.
    ///
    /// - Parameters:
    ///   - anonymousRole: As what clients join that do not say who they are; nil: they may not.
    ///   - decoyKey: What the challenges follow from of those who are not on the list: 16 bytes or more that nobody else knows. With the
    ///     same key they are the same after a restart, as those of users are whose salts are kept; nil: it is drawn.
    public init(anonymousRole: String? = "anonymous", decoyKey: [UInt8]? = nil) {
        (self.anonymousRole, decoys) = (anonymousRole, decoyKey.map { Decoys(key: $0) } ?? Decoys())
    }

    /// Adds a user, or another proof of the same one.
    ///
    /// A user may have many keys, and one proof of each other method: a later one takes its place. Whose name or role holds a character
    /// that nobody sees, such as one that changes the direction of text, is not let in.
    public mutating func add(_ name: String, _ proof: Proof, role: String = "user") {
        users[name]?.removeAll { $0.proof.method == proof.method && $0.proof.publicKey == proof.publicKey }
        users[name, default: []].append(User(role: role, proof: proof))
        if case .cra(let secret) = proof.kind, let salt = secret.salt { letters[salt.utf8.count, default: []].formUnion(salt.utf8) }
        for method in [nil, proof.method] where holders[method]?.contains(name) != true { holders[method, default: []].append(name) }
    }

    /// Lets in who is anonymous or on the list, by the first of the offered methods that fits.
    ///
    /// Who is not on the list is challenged like somebody who is, chosen by the name: by the same methods, in the same role, with a salt
    /// of the same kind, and always the same; so nothing tells whether there is such a user.
    public func examine(_ applicant: WAMPApplicant) async throws -> WAMPAdmission {
        // Anybody may say hello: it costs no more than it would with all methods there are, and a name no user can have costs nothing.
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
                // Of several keys the one that the client says it has.
                user.proof.method == method && (key == nil || user.proof.publicKey == nil || user.proof.publicKey == key)
            }
            if let user { return challenge(name, user, applicant) }
        }
        // Nothing of that is what this user has: it is asked for the first that anybody has, and not believed.
        for method in methods {
            let name = applicant.authID ?? ""
            guard let like = like(name, having: method), let proof = like.first(where: { $0.proof.method == method }) else { continue }
            return challenge(name, decoy(of: name, like: proof, of: like), applicant)
        }
        return .refused(reason: WAMPURI.Error.noMatchingAuthMethod, message: "none of the offered methods is known here")
    }

    /// Methods of one hello that are looked at.
    private static let mostMethods = 8
    /// Bytes of a name.
    private static let longestName = 256

    /// What a user has, or would have if it were on the list; both are found, so that it takes as long.
    private func entries(of name: String) -> [User] {
        let decoys = like(name, having: nil).map { list in list.map { decoy(of: name, like: $0, of: list) } }
        return users[name] ?? decoys ?? []
    }

    /// The user on the list that a name which is not is treated like.
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

    /// A client with a key need not say who it is.
    private func name(of applicant: WAMPApplicant, _ method: String) -> String? {
        if let name = applicant.authID { return name }
        guard method == SigningMethod.cryptosign, let key = applicant.extra["pubkey"]?.string?.lowercased() else { return nil }
        return users.filter { $0.value.contains { $0.proof.publicKey == key } }.keys.min()
    }

    private func challenge(_ name: String, _ user: User, _ applicant: WAMPApplicant) -> WAMPAdmission {
        let (method, isDecoy) = (user.proof.method, user.isDecoy)
        let principal = RouterPrincipal(authID: name, authRole: user.role, authMethod: method, authProvider: "static")
        // What is made up is looked at as well, so that it takes as long.
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
            // Anybody may say hello without a nonce.
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
    /// By which method, not with what.
    public var description: String { "a proof by \(method)" }
    /// Nothing: neither `dump` nor a crash report tells secrets.
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    fileprivate var salt: [UInt8]? { if case .scram(let keys) = kind { keys.salt } else { nil } }
    fileprivate var publicKey: String? { if case .cryptosign(let key) = kind { key } else { nil } }
}

extension WAMPAdmission {
    fileprivate static let unproven = WAMPAdmission.refused(
        reason: WAMPURI.Error.authenticationFailed, message: "that is no proof of who you are")
}
