public import WebSocketCore

/// A secret that opens connections, and for how long it does.
///
/// It describes itself without the secret, also in a dump.
public struct Credential: Sendable, CustomStringConvertible, CustomReflectable {
    /// The secret, as it stands in the request.
    public let secret: String
    /// How long it is good for from now on; nil: it does not expire, or nobody knows.
    public let expiresIn: Duration?

    /// Where it stands in the request; nil: where its provider's do.
    public let placement: CredentialPlacement?

    /// A secret that is good for so long.
    public init(_ secret: String, expiresIn: Duration? = nil, placement: CredentialPlacement? = nil) {
        (self.secret, self.expiresIn, self.placement) = (secret, expiresIn, placement)
    }

    /// A name, which has no colon, and a password: `Authorization: Basic …`.
    public static func basic(user: String, password: String) -> Credential { Credential("\(user):\(password)", placement: .basic) }

    /// That there is one, and no more.
    public var description: String { "a credential" }

    /// Nothing to be seen.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// What a provider of credentials throws to say whether asking it again can help; any other error counts as one that may pass.
public struct CredentialUnavailable: Error, CustomStringConvertible {
    /// Whether the same request may succeed later: false if somebody has to sign in first.
    public let isRetryable: Bool
    /// Why there is none, for people; must not hold a secret.
    public let description: String

    /// A failure of a provider.
    public init(isRetryable: Bool, _ description: String) { (self.isRetryable, self.description) = (isRetryable, description) }
}
