public import CodecCore
import MachineCore
public import WAMPCore

/// WAMP-CRA: a challenge that is signed with a shared secret.
///
/// Source: WAMP, "Challenge Response Authentication".
public enum ChallengeResponse {
    /// Returns a client's answer to a challenge.
    ///
    /// - Parameters:
    ///   - extra: The challenge; with a salt, the secret is hashed first.
    ///   - secret: The shared secret.
    ///   - costs: The allowed costs of hashing.
    /// - Throws: A ``SigningError``.
    public static func answer(_ extra: ValueMap, secret: String, costs: PasswordCosts = PasswordCosts()) throws(SigningError) -> String {
        guard let challenge = extra["challenge"]?.string else { throw .field("challenge") }
        return signature(of: challenge, key: try key(of: secret, extra, costs))
    }

    /// Returns the signature of a text: HMAC-SHA256 in Base64.
    static func signature(of challenge: String, key: String) -> String {
        Base64.text(KeyedHash.hmac(Array(challenge.utf8), key: Array(key.utf8)))
    }

    private static func key(of secret: String, _ extra: ValueMap, _ costs: PasswordCosts) throws(SigningError) -> String {
        guard let salt = extra["salt"], salt != .null else { return secret }
        guard let salt = salt.string else { throw .field("salt") }
        // The defaults are from WAMP, "Salted Passwords".
        let iterations = extra["iterations"]?.int ?? 1000
        let length = extra["keylen"]?.int ?? 32
        guard costs.iterations.contains(iterations) else { throw .cost("iterations", iterations) }
        guard (16...64).contains(length) else { throw .cost("keylen", length) }
        return try saltedSecret(secret, salt: salt, iterations: iterations, length: length)
    }

    /// Derives the key from a secret and a salt: the Base64 of PBKDF2's output, as a text.
    ///
    /// A router that stores this key instead of the secret cannot leak the secret.
    ///
    /// - Throws: ``SigningError/cancelled``.
    public static func saltedSecret(
        _ secret: String, salt: String, iterations: Int = 1000, length: Int = 32
    ) throws(SigningError) -> String {
        Base64.text(try PBKDF2.key(password: Array(secret.utf8), salt: Array(salt.utf8), iterations: iterations, length: length))
    }
}

/// A router's challenge of WAMP-CRA, used once.
public struct CRAChallenge: Hashable, Sendable {
    /// The challenge as it is sent to the client.
    public let extra: ValueMap
    private let signature: String

    /// Creates a challenge for a user.
    ///
    /// - Parameters:
    ///   - session: The ID of the future session, if the router knows it; clients ignore it.
    ///   - authID: The user ID.
    ///   - authRole: The role of the user.
    ///   - authProvider: The authentication provider.
    ///   - secret: The shared secret.
    ///   - time: The time of the challenge, in ISO 8601; clients ignore it.
    public init(
        session: WAMPID = 0, authID: String, authRole: String, authProvider: String = "static", secret: CRASecret, time: String = ""
    ) {
        let text: Value = [
            "authid": .text(authID), "authrole": .text(authRole), "authmethod": .text(SigningMethod.cra),
            "authprovider": .text(authProvider), "session": Value(session), "nonce": .text(Nonce.make()), "timestamp": .text(time),
        ]
        // Encoding cannot fail, because JSON can represent texts and integers.
        let challenge = String(decoding: (try? text.json()) ?? [], as: UTF8.self)
        var extra: ValueMap = ["challenge": .text(challenge)]
        if let salt = secret.salt {
            extra["salt"] = .text(salt)
            extra["iterations"] = .integer(Int64(secret.iterations))
            extra["keylen"] = 32
        }
        self.extra = extra
        signature = ChallengeResponse.signature(of: challenge, key: secret.key)
    }

    /// Whether this is the correct answer, which proves that the client knows the secret.
    public func isAnswered(by answer: String) -> Bool { KeyedHash.areEqual(answer, signature) }
}

extension CRAChallenge: CustomStringConvertible, CustomReflectable {
    /// A text without the expected answer.
    public var description: String { "a WAMP-CRA challenge" }
    /// Empty, so that neither `dump` nor a crash report contains the answer.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The secret of a WAMP-CRA user, as a router stores it.
public struct CRASecret: Hashable, Sendable {
    let key: String
    package let salt: String?
    let iterations: Int

    /// Creates a secret that is stored unchanged.
    public init(_ secret: String) { (key, salt, iterations) = (secret, nil, 0) }

    /// Creates a secret that is stored salted.
    ///
    /// The salted secret has a key length of 32; see ``ChallengeResponse/saltedSecret(_:salt:iterations:length:)``.
    public init(salted: String, salt: String, iterations: Int = 1000) { (key, self.salt, self.iterations) = (salted, salt, iterations) }
}

extension CRASecret: CustomStringConvertible, CustomReflectable {
    /// A text without the secret.
    public var description: String { salt == nil ? "a secret" : "a salted secret" }
    /// Empty, so that neither `dump` nor a crash report contains secrets.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
