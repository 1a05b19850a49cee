public import WebSocketCore

/// Where the credential of a ``WebSocket`` comes from, and where it stands in the request.
///
/// The provider is asked before every attempt, once however many need it, and ahead of the expiry of what it gave last; see
/// `CredentialPolicy`. It may throw ``CredentialUnavailable``.
public struct CredentialProvider: Sendable {
    /// Gives a fresh credential; cancelled when nobody waits for it any more.
    public typealias Fetch = @Sendable () async throws -> Credential

    let placement: CredentialPlacement
    let fetch: Fetch

    /// A provider whose credentials stand in this place.
    public init(_ placement: CredentialPlacement, _ fetch: @escaping Fetch) { (self.placement, self.fetch) = (placement, fetch) }

    /// A provider of bearer tokens: `Authorization: Bearer …`.
    public static func bearer(_ fetch: @escaping Fetch) -> CredentialProvider { CredentialProvider(.bearer, fetch) }

    /// A provider of a name, which has no colon, and a password: `Authorization: Basic …`.
    public static func basic(_ fetch: @escaping @Sendable () async throws -> (user: String, password: String)) -> CredentialProvider {
        CredentialProvider(.basic) {
            let login = try await fetch()
            return Credential("\(login.user):\(login.password)")
        }
    }
}
