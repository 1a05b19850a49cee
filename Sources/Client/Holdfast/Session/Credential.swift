public import WebSocketCore

/// A secret that authenticates connections, and its lifetime.
///
/// Its description and its dump do not contain the secret.
public struct Credential: Sendable, CustomStringConvertible, CustomReflectable {
    /// The secret in the form in which the request carries it.
    public let secret: String
    /// The lifetime from now on; nil if it does not expire or the lifetime is unknown.
    public let expiresIn: Duration?

    /// The place in the request; nil to use the placement of the provider.
    public let placement: CredentialPlacement?

    /// Creates a credential with an optional lifetime.
    public init(_ secret: String, expiresIn: Duration? = nil, placement: CredentialPlacement? = nil) {
        (self.secret, self.expiresIn, self.placement) = (secret, expiresIn, placement)
    }

    /// Returns a credential for `Authorization: Basic …`; the user name must not contain a colon.
    public static func basic(user: String, password: String) -> Credential { Credential("\(user):\(password)", placement: .basic) }

    /// A fixed text without the secret.
    public var description: String { "a credential" }

    /// An empty mirror that hides the secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The error of a credential provider that says whether a retry can help; any other error counts as temporary.
public struct CredentialUnavailable: Error, CustomStringConvertible {
    /// Whether the same request may succeed later; false if somebody has to sign in first.
    public let isRetryable: Bool
    /// The reason in readable form; must not contain a secret.
    public let description: String

    /// Creates a provider error.
    public init(isRetryable: Bool, _ description: String) { (self.isRetryable, self.description) = (isRetryable, description) }
}

/// The information that a credential provider gets with each request.
public struct CredentialRequest: Hashable, Sendable {
    /// The authentication challenges of the server if it refused the last attempt with 401; otherwise empty.
    public let challenges: [AuthenticationChallenge]
    /// Whether the server rejected the credential of the last attempt or connection; the same credential would fail again.
    ///
    /// A rejection is a loss for which ``WebSocketOptions/reconnect`` asks for fresh credentials. By default these are the status 401 and
    /// the close codes 1008 and 3000.
    public let isRefused: Bool
    /// The rejected credential as a token, whose description hides the secret.
    let refused: StoredToken?

    /// Creates a request; by default the first one, before any answer of the server.
    public init(challenges: [AuthenticationChallenge] = [], isRefused: Bool = false) {
        (self.challenges, self.isRefused, refused) = (challenges, isRefused, nil)
    }

    /// Creates a request after the server rejected a credential.
    init(challenges: [AuthenticationChallenge] = [], refused: Credential?, isRefused: Bool) {
        (self.challenges, self.isRefused, self.refused) = (challenges, isRefused, isRefused ? refused.map { StoredToken($0.secret) } : nil)
    }

    /// Returns the first challenge of a scheme, such as `basic` or `bearer`, in lower case.
    public func challenge(_ scheme: String) -> AuthenticationChallenge? { challenges.first { $0.scheme == scheme } }
}

/// The source of the credentials of a ``WebSocket``, and their place in the request.
///
/// The socket asks the provider before every attempt and before the last credential expires. It asks once, even if several attempts need
/// a credential; see `CredentialPolicy`. The provider may throw ``CredentialUnavailable``. A provider that takes a ``CredentialRequest``
/// learns what the server answered with a 401 to the last credential: the schemes that it supports, the realm, and the error of a token.
public struct CredentialProvider: Sendable {
    /// Returns a fresh credential; cancelled when no attempt needs it any more.
    public typealias Fetch = @Sendable () async throws -> Credential
    /// Returns a fresh credential for a request that carries the server's challenges.
    public typealias Answer = @Sendable (CredentialRequest) async throws -> Credential
    /// A user name, which must not contain a colon, and a password.
    public typealias Login = (user: String, password: String)

    let placement: CredentialPlacement
    let answer: Answer

    /// Creates a provider whose credentials go to this place of the request.
    public init(_ placement: CredentialPlacement, _ fetch: @escaping Fetch) { self.init(placement) { _ in try await fetch() } }

    /// Creates a provider whose credentials go to this place of the request, unless a credential names another one.
    public init(_ placement: CredentialPlacement, answering answer: @escaping Answer) {
        (self.placement, self.answer) = (placement, answer)
    }

    /// Returns a provider of bearer tokens: `Authorization: Bearer …`.
    public static func bearer(_ fetch: @escaping Fetch) -> CredentialProvider { CredentialProvider(.bearer, fetch) }

    /// Returns a provider of bearer tokens that receives the server's challenges.
    public static func bearer(answering answer: @escaping Answer) -> CredentialProvider { CredentialProvider(.bearer, answering: answer) }

    /// Returns a provider of names and passwords: `Authorization: Basic …`.
    public static func basic(_ fetch: @escaping @Sendable () async throws -> Login) -> CredentialProvider {
        .basic { _ in try await fetch() }
    }

    /// Returns a provider of names and passwords that receives the server's challenges.
    public static func basic(answering answer: @escaping @Sendable (CredentialRequest) async throws -> Login) -> CredentialProvider {
        CredentialProvider(.basic) { (request: CredentialRequest) in
            let login = try await answer(request)
            return .basic(user: login.user, password: login.password)
        }
    }
}
