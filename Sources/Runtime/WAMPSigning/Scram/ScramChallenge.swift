public import CodecCore
import MachineCore

/// A router's challenge of SCRAM, used once.
public struct ScramChallenge: Hashable, Sendable {
    /// What the client is shown.
    public let extra: ValueMap
    private let keys: ScramKeys
    private let conversation: ScramConversation

    /// A challenge for a user.
    ///
    /// - Parameters:
    ///   - user: Who it is.
    ///   - keys: What is kept of the password.
    ///   - hello: What the client's HELLO says in `authextra`.
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

    /// What WELCOME has to say in `authextra` if this is the answer of one who knows the password; else nil.
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
    /// That it is there, not what would answer it.
    public var description: String { "a challenge of SCRAM" }
    /// Nothing: neither `dump` nor a crash report tells keys.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
