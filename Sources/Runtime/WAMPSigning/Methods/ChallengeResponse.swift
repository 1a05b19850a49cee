public import CodecCore
import MachineCore
public import WAMPCore

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
        Base64.text(try PBKDF2.key(password: Array(secret.utf8), salt: Array(salt.utf8), iterations: iterations, length: length))
    }
}

/// A router's challenge of WAMP-CRA, used once.
public struct CRAChallenge: Hashable, Sendable {
    /// What the client is shown.
    public let extra: ValueMap
    private let signature: String

    /// A challenge for a user.
    ///
    /// - Parameters:
    ///   - session: The session that it would become, as far as the router knows; clients do not care.
    ///   - authID: Who the user is.
    ///   - authRole: As what it joins.
    ///   - authProvider: Who vouches for it.
    ///   - secret: What both sides know.
    ///   - time: When it is made, in ISO 8601; clients do not care.
    public init(
        session: WAMPID = 0, authID: String, authRole: String, authProvider: String = "static", secret: CRASecret, time: String = ""
    ) {
        let text: Value = [
            "authid": .text(authID), "authrole": .text(authRole), "authmethod": .text(SigningMethod.cra),
            "authprovider": .text(authProvider), "session": Value(session), "nonce": .text(Nonce.make()), "timestamp": .text(time),
        ]
        // Texts and an integer: JSON can say them.
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

    /// Whether this is the answer of one who knows the secret.
    public func isAnswered(by answer: String) -> Bool { KeyedHash.areEqual(answer, signature) }
}

extension CRAChallenge: CustomStringConvertible, CustomReflectable {
    /// That it is there, not what would answer it.
    public var description: String { "a challenge of WAMP-CRA" }
    /// Nothing: neither `dump` nor a crash report tells the answer.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// How a router knows a user of WAMP-CRA.
public struct CRASecret: Hashable, Sendable {
    let key: String
    package let salt: String?
    let iterations: Int

    /// A secret as it is.
    public init(_ secret: String) { (key, salt, iterations) = (secret, nil, 0) }

    /// What is left of a secret with a salt.
    ///
    /// It is of the length 32; see ``ChallengeResponse/saltedSecret(_:salt:iterations:length:)``.
    public init(salted: String, salt: String, iterations: Int = 1000) { (key, self.salt, self.iterations) = (salted, salt, iterations) }
}

extension CRASecret: CustomStringConvertible, CustomReflectable {
    /// That it is there, not what it is.
    public var description: String { salt == nil ? "a secret" : "a salted secret" }
    /// Nothing: neither `dump` nor a crash report tells secrets.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
