public import CodecCore
import MachineCore

/// A client's side of SCRAM, for one session.
///
/// Names and passwords are taken as they are: one with letters beyond ASCII has to be normalized (SASLprep, RFC 4013) beforehand.
public struct ScramClient: Sendable {
    private let user: String
    private let password: String
    private let argon2: Argon2id?
    private let costs: PasswordCosts
    private let nonce: String

    /// A client that signs a user in.
    ///
    /// - Parameters:
    ///   - user: Who it is.
    ///   - password: The user's password.
    ///   - argon2: What hashes the password where the router keeps it so.
    ///   - costs: What hashing may cost.
    public init(user: String, password: String, argon2: Argon2id? = nil, costs: PasswordCosts = PasswordCosts()) {
        self.init(user: user, password: password, argon2: argon2, costs: costs, nonce: Nonce.make())
    }

    init(user: String, password: String, argon2: Argon2id?, costs: PasswordCosts, nonce: String) {
        (self.user, self.password, self.argon2, self.costs, self.nonce) = (user, password, argon2, costs, nonce)
    }

    /// What HELLO says beforehand, in `authextra`.
    public var extra: ValueMap { ["nonce": .text(nonce), "channel_binding": .null] }

    /// The answer to a challenge, and by what the router will be known.
    ///
    /// - Throws: A ``SigningError``.
    public func answer(_ extra: ValueMap, dialect: ScramDialect) throws(SigningError) -> ScramAnswer {
        guard let nonce = extra["nonce"]?.string else { throw .field("nonce") }
        guard let saltText = extra["salt"]?.string, let salt = Base64.bytes(saltText) else { throw .field("salt") }
        // Anyone's challenge could be passed on to us; and what the router adds must not be empty.
        guard nonce.hasPrefix(self.nonce), nonce.utf8.count > self.nonce.utf8.count else { throw .foreignNonce }
        guard nonce.utf8.count <= 1024, !nonce.utf8.contains(UInt8(ascii: ",")) else { throw .field("nonce") }
        let hash = try PasswordHash(extra, dialect: dialect)
        try hash.check(costs)
        let salted = try hash.salted(password, salt: salt, dialect: dialect, argon2: argon2)
        let conversation = ScramConversation(
            dialect: dialect, user: user, clientNonce: self.nonce, nonce: nonce, salt: saltText, iterations: hash.iterations)
        let proof = conversation.proof(clientKey: KeyedHash.hmac(Array("Client Key".utf8), key: salted))
        let serverKey = KeyedHash.hmac(Array("Server Key".utf8), key: salted)
        return ScramAnswer(
            signature: Base64.text(proof),
            extra: dialect == .crossbar ? [:] : ["nonce": .text(nonce), "channel_binding": .null, "cbind_data": .null],
            serverSignature: conversation.serverSignature(serverKey: serverKey))
    }
}

extension ScramClient: CustomStringConvertible, CustomReflectable {
    /// That it is there, not what it knows.
    public var description: String { "SCRAM of \(user)" }
    /// Nothing: neither `dump` nor a crash report tells passwords.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
