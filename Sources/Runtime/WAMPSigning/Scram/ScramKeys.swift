/// What a router keeps of a user's password: enough to check it, not enough to sign in with.
public struct ScramKeys: Hashable, Sendable {
    package let dialect: ScramDialect
    let hash: PasswordHash
    package let salt: [UInt8]
    let storedKey: [UInt8]
    let serverKey: [UInt8]

    /// The keys as they were kept.
    ///
    /// - Parameters:
    ///   - dialect: How the user's client speaks; with Argon2id, the keys of the two differ.
    ///   - hash: How the password was hashed.
    ///   - salt: With which salt.
    ///   - storedKey: The hash of the client's key, 32 bytes.
    ///   - serverKey: The server's key, 32 bytes.
    public init(dialect: ScramDialect, hash: PasswordHash, salt: [UInt8], storedKey: [UInt8], serverKey: [UInt8]) {
        (self.dialect, self.hash, self.salt, self.storedKey, self.serverKey) = (dialect, hash, salt, storedKey, serverKey)
    }

    /// The keys of a password; with Argon2id, that has to be given.
    ///
    /// - Throws: A ``SigningError``.
    public init(
        password: String, dialect: ScramDialect, hash: PasswordHash, salt: [UInt8]? = nil, argon2: Argon2id? = nil
    ) throws(SigningError) {
        let salt = salt ?? Nonce.bytes(16)
        let salted = try hash.salted(password, salt: salt, dialect: dialect, argon2: argon2)
        self.init(
            dialect: dialect, hash: hash, salt: salt,
            storedKey: KeyedHash.sha256(KeyedHash.hmac(Array("Client Key".utf8), key: salted)),
            serverKey: KeyedHash.hmac(Array("Server Key".utf8), key: salted))
    }
}

extension ScramKeys: CustomStringConvertible, CustomReflectable {
    /// That they are there, not what they are.
    public var description: String { "keys of SCRAM" }
    /// Nothing: neither `dump` nor a crash report tells keys.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
