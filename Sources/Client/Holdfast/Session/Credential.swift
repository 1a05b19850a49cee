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

/// Where the credential of a ``WebSocket`` comes from, and where it stands in the request.
///
/// The provider is asked before every attempt, once however many need it, and ahead of the expiry of what it gave last; see
/// `CredentialPolicy`. It may throw ``CredentialUnavailable``. One that takes a ``CredentialRequest`` is told what the server said to the
/// last credential, if it refused it with 401: the schemes that it knows, the realm, and what was wrong with a token.
public struct CredentialProvider: Sendable {
    /// Gives a fresh credential; cancelled when nobody waits for it any more.
    public typealias Fetch = @Sendable () async throws -> Credential
    /// The same, with what the server wants.
    public typealias Answer = @Sendable (CredentialRequest) async throws -> Credential
    /// A name, which has no colon, and a password.
    public typealias Login = (user: String, password: String)

    let placement: CredentialPlacement
    let answer: Answer

    /// A provider whose credentials stand in this place.
    public init(_ placement: CredentialPlacement, _ fetch: @escaping Fetch) { self.init(placement) { _ in try await fetch() } }

    /// A provider whose credentials stand in this place, unless they say another.
    public init(_ placement: CredentialPlacement, answering answer: @escaping Answer) {
        (self.placement, self.answer) = (placement, answer)
    }

    /// A provider of bearer tokens: `Authorization: Bearer …`.
    public static func bearer(_ fetch: @escaping Fetch) -> CredentialProvider { CredentialProvider(.bearer, fetch) }

    /// A provider of bearer tokens that is told what the server wants.
    public static func bearer(answering answer: @escaping Answer) -> CredentialProvider { CredentialProvider(.bearer, answering: answer) }

    /// A provider of names and passwords: `Authorization: Basic …`.
    public static func basic(_ fetch: @escaping @Sendable () async throws -> Login) -> CredentialProvider {
        .basic { _ in try await fetch() }
    }

    /// A provider of names and passwords that is told what the server wants.
    public static func basic(answering answer: @escaping @Sendable (CredentialRequest) async throws -> Login) -> CredentialProvider {
        CredentialProvider(.basic) { (request: CredentialRequest) in
            let login = try await answer(request)
            return .basic(user: login.user, password: login.password)
        }
    }
}
