import CodecCore

/// What both sides of SCRAM sign.
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

    /// What proves that a client knows the password.
    func proof(clientKey: [UInt8]) -> [UInt8] {
        let signature = KeyedHash.hmac(text, key: KeyedHash.sha256(clientKey))
        return zip(clientKey, signature).map { $0 ^ $1 }
    }

    /// What proves that a router has the user's keys.
    func serverSignature(serverKey: [UInt8]) -> [UInt8] { KeyedHash.hmac(text, key: serverKey) }
}
