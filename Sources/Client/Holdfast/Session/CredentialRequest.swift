public import WebSocketCore

/// What a provider of credentials is told when it is asked.
public struct CredentialRequest: Hashable, Sendable {
    /// What the server wants to be shown, if it refused the last attempt with 401; else none.
    public let challenges: [AuthenticationChallenge]
    /// Whether the server did not take the credential of the last attempt or connection: the same one would fail again.
    ///
    /// That is a loss for which ``WebSocketOptions/reconnect`` wants fresh credentials: by default the status 401, or closed with 1008 or
    /// 3000.
    public let isRefused: Bool
    /// That credential, as a token: it hides itself.
    let refused: StoredToken?

    /// A request; by default the first one, before the server has said anything.
    public init(challenges: [AuthenticationChallenge] = [], isRefused: Bool = false) {
        (self.challenges, self.isRefused, refused) = (challenges, isRefused, nil)
    }

    /// A request after the server did not take a credential, if there is one.
    init(challenges: [AuthenticationChallenge] = [], refused: Credential?, isRefused: Bool) {
        (self.challenges, self.isRefused, self.refused) = (challenges, isRefused, isRefused ? refused.map { StoredToken($0.secret) } : nil)
    }

    /// The first challenge of a scheme, such as `basic` or `bearer`, in lower case.
    public func challenge(_ scheme: String) -> AuthenticationChallenge? { challenges.first { $0.scheme == scheme } }
}
