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
