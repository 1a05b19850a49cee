public import RoomCore

/// An authority that identifies clients by their tokens and decides what they may do.
///
/// ``TokenVerifier`` handles JSON Web Tokens. Implement this protocol for tokens of another kind.
public protocol HubAuthority: Sendable {
    /// Returns the identity that a token belongs to.
    ///
    /// The hub calls it once for each `hello`, and again when a client sends a fresh token. The client waits; after ten seconds it is
    /// refused.
    ///
    /// - Parameters:
    ///   - token: The client's token, at most 8 KiB; nil if it sent none.
    ///   - isLocal: Whether the client is on this machine and no proxy reports that it forwarded the connection.
    func identify(_ token: String?, isLocal: Bool) async throws(TokenRefusal) -> Identity
}

/// The reason why a token was refused.
public struct TokenRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of reasons.
    public enum Reason: String, Hashable, Sendable, CaseIterable {
        /// There is no token.
        case missing
        /// The text is not a token.
        case malformed
        /// The token's algorithm or key is not accepted here.
        case algorithm
        /// The signature does not match any of the keys.
        case signature
        /// The token has expired.
        case expired
        /// The token is not valid yet.
        case early
        /// The token is from another issuer, or for another audience.
        case foreign
        /// A claim is missing or invalid.
        case claims
        /// The token is a development token, and development is off or the client is not on this machine.
        case development
    }
    /// The kind of the reason.
    public var reason: Reason
    /// The reason in words for people; contains nothing of the token itself.
    public var description: String

    /// Creates a refusal.
    public init(_ reason: Reason, _ description: String) { (self.reason, self.description) = (reason, description) }

    /// The refusal that the client gets.
    var refusal: Refusal {
        reason == .expired ? Refusal(.expired, retry: .reconnect, description) : Refusal(.token, retry: .never, description)
    }
}

/// Accepts `dev:NAME` from clients on this machine, and leaves all other tokens to another authority.
struct DevelopmentAuthority: HubAuthority {
    private static let prefix = "dev:"
    /// The authority for other tokens; nil: they are refused.
    let other: (any HubAuthority)?
    /// Whether development is on; the hub has made sure that it listens on this machine only.
    let isOn: Bool

    func identify(_ token: String?, isLocal: Bool) async throws(TokenRefusal) -> Identity {
        guard let token, token.hasPrefix(Self.prefix) else {
            guard let other else {
                throw token == nil
                    ? TokenRefusal(.missing, "there is no token") : TokenRefusal(.algorithm, "this hub has no keys for tokens")
            }
            return try await other.identify(token, isLocal: isLocal)
        }
        guard isOn, isLocal else { throw TokenRefusal(.development, "development tokens are not accepted here") }
        guard let user = UserName(String(token.dropFirst(Self.prefix.count))) else {
            throw TokenRefusal(.malformed, "the name after dev: must have 1 to 128 bytes")
        }
        if let hidden = user.hidden { throw TokenRefusal(.claims, "the name after dev: contains an invisible character (\(hidden))") }
        return Identity(user: user, grants: [Grant("*", .member)], expires: nil)
    }
}

/// The queue of client tokens that wait for verification.
final class TokenGate: Sendable {
    struct Question: Sendable {
        let connection: ConnectionID
        let token: String?
        let isLocal: Bool
    }
    /// The maximum length of a token in bytes; longer ones are refused.
    static let mostBytes = 8192

    private let authority: any HubAuthority
    // A connection has at most one open question here, so there are no more questions than connections.
    private let questions: AsyncStream<Question>
    private let asking: AsyncStream<Question>.Continuation

    init(_ authority: any HubAuthority) {
        self.authority = authority
        (questions, asking) = AsyncStream.makeStream()
    }

    func ask(_ question: Question) { asking.yield(question) }

    func finish() { asking.finish() }

    /// Answers questions until the queue is finished.
    func run(_ answer: @escaping @Sendable (HubInput) -> Void) async {
        await withDiscardingTaskGroup { group in
            for await question in questions { group.addTask { answer(await self.input(question)) } }
        }
    }

    private func input(_ question: Question) async -> HubInput {
        do throws(TokenRefusal) {
            guard question.token.map({ $0.utf8.count <= Self.mostBytes }) ?? true else {
                throw TokenRefusal(.malformed, "the token is too long")
            }
            return .identified(question.connection, try await authority.identify(question.token, isLocal: question.isLocal))
        } catch {
            return .unidentified(question.connection, error.refusal)
        }
    }
}
