public import RoomCore

/// Who decides who somebody is, and what they may do.
///
/// ``TokenVerifier`` reads JSON Web Tokens. Write one of your own for tokens of another kind.
public protocol HubAuthority: Sendable {
    /// Who shows this token.
    ///
    /// Called once for each `hello`, and again when a client shows a fresh token. The client waits; after ten seconds it is refused.
    ///
    /// - Parameters:
    ///   - token: What it shows, at most 8 KiB; nil: nothing.
    ///   - isLocal: Whether it is on this machine, without a proxy that says so between.
    func identify(_ token: String?, isLocal: Bool) async throws(TokenRefusal) -> Identity
}

/// Why a token is not taken.
public struct TokenRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong with it.
    public enum Reason: String, Hashable, Sendable, CaseIterable {
        /// There is none.
        case missing
        /// It is not a token.
        case malformed
        /// It is signed by a way, or with a key, that is not taken here.
        case algorithm
        /// None of the keys has signed it.
        case signature
        /// It has ended.
        case expired
        /// It begins later.
        case early
        /// It is of another issuer, or for another audience.
        case foreign
        /// It lacks a claim, or a claim makes no sense.
        case claims
        /// It is one for development, which is off, or was shown from elsewhere.
        case development
    }
    /// What is wrong.
    public var reason: Reason
    /// For people; says nothing of the token itself.
    public var description: String

    /// A refusal.
    public init(_ reason: Reason, _ description: String) { (self.reason, self.description) = (reason, description) }

    /// What the client hears.
    var refusal: Refusal {
        reason == .expired ? Refusal(.expired, retry: .reconnect, description) : Refusal(.token, retry: .never, description)
    }
}
