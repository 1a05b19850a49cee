public import CodecCore
public import WAMPCore

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
