public import WebSocketCore

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
