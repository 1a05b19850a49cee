public import WebSocketCore

/// What a provider of credentials is told when it is asked.
public struct CredentialRequest: Hashable, Sendable {
    /// What the server wants to be shown, if it refused the last attempt with 401; else none.
    public let challenges: [AuthenticationChallenge]

    /// A request; by default the first one, before the server has said anything.
    public init(challenges: [AuthenticationChallenge] = []) { self.challenges = challenges }

    /// The first challenge of a scheme, such as `basic` or `bearer`, in lower case.
    public func challenge(_ scheme: String) -> AuthenticationChallenge? { challenges.first { $0.scheme == scheme } }
}
