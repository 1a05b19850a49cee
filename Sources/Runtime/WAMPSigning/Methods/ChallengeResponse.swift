public import CodecCore
import MachineCore

/// WAMP-CRA: a challenge, signed with a secret that both sides know.
///
/// Source: WAMP, "Challenge Response Authentication".
public enum ChallengeResponse {
    /// What a client answers to a challenge.
    ///
    /// - Parameters:
    ///   - extra: The challenge; with a salt, the secret is hashed first.
    ///   - secret: What both sides know.
    ///   - costs: What hashing may cost.
    /// - Throws: A ``SigningError``.
    public static func answer(_ extra: ValueMap, secret: String, costs: PasswordCosts = PasswordCosts()) throws(SigningError) -> String {
        guard let challenge = extra["challenge"]?.string else { throw .field("challenge") }
        return signature(of: challenge, key: try key(of: secret, extra, costs))
    }

    /// The signature of a text: HMAC-SHA256 in Base64.
    static func signature(of challenge: String, key: String) -> String {
        Base64.text(KeyedHash.hmac(Array(challenge.utf8), key: Array(key.utf8)))
    }

    private static func key(of secret: String, _ extra: ValueMap, _ costs: PasswordCosts) throws(SigningError) -> String {
        guard let salt = extra["salt"], salt != .null else { return secret }
        guard let salt = salt.string else { throw .field("salt") }
        // Defaults: WAMP, "Salted Passwords".
        let iterations = extra["iterations"]?.int ?? 1000
        let length = extra["keylen"]?.int ?? 32
        guard costs.iterations.contains(iterations) else { throw .cost("iterations", iterations) }
        guard (16...64).contains(length) else { throw .cost("keylen", length) }
        return try saltedSecret(secret, salt: salt, iterations: iterations, length: length)
    }

    /// The key that a secret becomes with a salt: the Base64 of PBKDF2's output, as a text.
    ///
    /// A router that keeps this instead of the secret cannot leak the secret.
    ///
    /// - Throws: ``SigningError/cancelled``.
    public static func saltedSecret(
        _ secret: String, salt: String, iterations: Int = 1000, length: Int = 32
    ) throws(SigningError) -> String {
        do {
            return Base64.text(
                try PBKDF2.key(password: Array(secret.utf8), salt: Array(salt.utf8), iterations: iterations, length: length))
        } catch {
            throw .cancelled
        }
    }
}
