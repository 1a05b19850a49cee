public import CodecCore
import MachineCore

/// The text that both sides of SCRAM sign.
///
/// Source: RFC 5802 §3, and WAMP, "Salted Challenge Response Authentication".
struct ScramConversation: Hashable, Sendable {
    let dialect: ScramDialect
    let user: String
    let clientNonce: String
    let nonce: String
    let salt: String
    let iterations: Int

    var text: [UInt8] {
        let first = "n=\(dialect.escaped(user)),r=\(clientNonce)"
        let challenge = "r=\(nonce),s=\(salt),i=\(iterations)"
        return Array("\(first),\(challenge),c=\(dialect.binding),r=\(nonce)".utf8)
    }

    /// Returns the proof that a client knows the password.
    func proof(clientKey: [UInt8]) -> [UInt8] {
        let signature = KeyedHash.hmac(text, key: KeyedHash.sha256(clientKey))
        return zip(clientKey, signature).map { $0 ^ $1 }
    }

    /// Returns the proof that a router has the user's keys.
    func serverSignature(serverKey: [UInt8]) -> [UInt8] { KeyedHash.hmac(text, key: serverKey) }
}

/// The client's side of SCRAM, for one session.
///
/// Names and passwords are used unchanged: those with characters beyond ASCII must be normalized (SASLprep, RFC 4013) beforehand.
public struct ScramClient: Sendable {
    private let user: String
    private let password: String
    private let argon2: Argon2id?
    private let costs: PasswordCosts
    private let nonce: String

    /// Creates a client that authenticates a user.
    ///
    /// - Parameters:
    ///   - user: The user name.
    ///   - password: The user's password.
    ///   - argon2: Hashes the password if the router stores it with Argon2id.
    ///   - costs: The allowed costs of hashing.
    public init(user: String, password: String, argon2: Argon2id? = nil, costs: PasswordCosts = PasswordCosts()) {
        self.init(user: user, password: password, argon2: argon2, costs: costs, nonce: Nonce.make())
    }

    init(user: String, password: String, argon2: Argon2id?, costs: PasswordCosts, nonce: String) {
        (self.user, self.password, self.argon2, self.costs, self.nonce) = (user, password, argon2, costs, nonce)
    }

    /// The client's part of HELLO, in `authextra`.
    public var extra: ValueMap { ["nonce": .text(nonce), "channel_binding": .null] }

    /// Returns the answer to a challenge, with the expected signature of the router.
    ///
    /// - Throws: A ``SigningError``.
    public func answer(_ extra: ValueMap, dialect: ScramDialect) throws(SigningError) -> ScramAnswer {
        guard let nonce = extra["nonce"]?.string else { throw .field("nonce") }
        guard let saltText = extra["salt"]?.string, let salt = Base64.bytes(saltText) else { throw .field("salt") }
        // The nonce must be ours, because any challenge could be forwarded to us, and the router must have added its own part.
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
    /// A text without the password.
    public var description: String { "SCRAM of \(user)" }
    /// Empty, so that neither `dump` nor a crash report contains passwords.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A client's answer to a SCRAM challenge.
public struct ScramAnswer: Sendable {
    /// The signature in AUTHENTICATE.
    public let signature: String
    /// The other fields of AUTHENTICATE.
    public let extra: ValueMap
    let serverSignature: [UInt8]

    /// Whether the details of a WELCOME prove that the router has the user's keys.
    public func isGenuine(_ details: ValueMap) -> Bool {
        guard let extra = details["authextra"], let text = (extra["verifier"] ?? extra["scram_server_signature"])?.string else {
            return false
        }
        // The example in the specification has the name of the attribute before the signature, its text has not.
        guard let signature = Base64.bytes(text.hasPrefix("v=") ? String(text.dropFirst(2)) : text) else { return false }
        return KeyedHash.areEqual(signature, serverSignature)
    }
}

extension ScramAnswer: CustomStringConvertible, CustomReflectable {
    /// A text without the signature.
    public var description: String { "a SCRAM answer" }
    /// Empty, so that neither `dump` nor a crash report contains signatures.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A router's SCRAM challenge, used once.
public struct ScramChallenge: Hashable, Sendable {
    /// The challenge as it is sent to the client.
    public let extra: ValueMap
    private let keys: ScramKeys
    private let conversation: ScramConversation

    /// Creates a challenge for a user.
    ///
    /// - Parameters:
    ///   - user: The user name.
    ///   - keys: The stored keys of the user's password.
    ///   - hello: The `authextra` of the client's HELLO.
    /// - Throws: ``SigningError/field(_:)`` if the hello has no nonce.
    public init(user: String, keys: ScramKeys, hello: ValueMap) throws(SigningError) {
        guard let nonce = hello["nonce"]?.string, nonce.utf8.count <= 1024, let bytes = Base64.bytes(nonce), !bytes.isEmpty else {
            throw .field("nonce")
        }
        let own = Nonce.bytes()
        let whole = keys.dialect == .crossbar ? Base64.text(bytes + own) : nonce + Base64.text(own)
        let salt = Base64.text(keys.salt)
        var extra: ValueMap = [
            "nonce": .text(whole), "salt": .text(salt), "kdf": "pbkdf2", "iterations": .integer(Int64(keys.hash.iterations)),
        ]
        if case .argon2id(_, let memory) = keys.hash {
            extra["kdf"] = .text(keys.dialect.argon2)
            extra["memory"] = .integer(Int64(memory))
        }
        (self.extra, self.keys) = (extra, keys)
        conversation = ScramConversation(
            dialect: keys.dialect, user: user, clientNonce: nonce, nonce: whole, salt: salt, iterations: keys.hash.iterations)
    }

    /// Returns the `authextra` for WELCOME if the answer proves that the client knows the password; otherwise nil.
    public func welcome(answer: String) -> ValueMap? {
        guard let proof = Base64.bytes(answer), proof.count == 32 else { return nil }
        let signature = KeyedHash.hmac(conversation.text, key: keys.storedKey)
        let clientKey = zip(proof, signature).map { $0 ^ $1 }
        guard KeyedHash.areEqual(KeyedHash.sha256(clientKey), keys.storedKey) else { return nil }
        let own = Base64.text(conversation.serverSignature(serverKey: keys.serverKey))
        return keys.dialect == .crossbar ? ["scram_server_signature": .text(own)] : ["verifier": .text(own)]
    }
}

extension ScramChallenge: CustomStringConvertible, CustomReflectable {
    /// A text without the expected answer.
    public var description: String { "a SCRAM challenge" }
    /// Empty, so that neither `dump` nor a crash report contains keys.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
