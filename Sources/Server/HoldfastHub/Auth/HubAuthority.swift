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

/// Takes `dev:NAME` of clients on this machine, and leaves all other tokens to another authority.
struct DevelopmentAuthority: HubAuthority {
    private static let prefix = "dev:"
    /// Who looks at other tokens; nil: nobody, and they are refused.
    let other: (any HubAuthority)?
    /// Whether development is on; the hub has seen to it that it listens on this machine only.
    let isOn: Bool

    func identify(_ token: String?, isLocal: Bool) async throws(TokenRefusal) -> Identity {
        guard let token, token.hasPrefix(Self.prefix) else {
            guard let other else {
                throw token == nil
                    ? TokenRefusal(.missing, "there is no token") : TokenRefusal(.algorithm, "this hub has no keys for tokens")
            }
            return try await other.identify(token, isLocal: isLocal)
        }
        guard isOn, isLocal else { throw TokenRefusal(.development, "tokens for development are not taken here") }
        guard let user = UserName(String(token.dropFirst(Self.prefix.count))) else {
            throw TokenRefusal(.malformed, "the name after dev: has 1 to 128 bytes")
        }
        if let hidden = user.hidden { throw TokenRefusal(.claims, "the name after dev: holds a character that nobody sees (\(hidden))") }
        return Identity(user: user, grants: [Grant("*", .member)], expires: nil)
    }
}

/// Where the tokens of clients wait to be looked at.
final class TokenGate: Sendable {
    struct Question: Sendable {
        let connection: ConnectionID
        let token: String?
        let isLocal: Bool
    }
    /// Tokens that are longer are none.
    static let mostBytes = 8192

    private let authority: any HubAuthority
    // A connection has at most one here that is not answered, so there are no more than connections.
    private let questions: AsyncStream<Question>
    private let asking: AsyncStream<Question>.Continuation

    init(_ authority: any HubAuthority) {
        self.authority = authority
        (questions, asking) = AsyncStream.makeStream()
    }

    func ask(_ question: Question) { asking.yield(question) }

    func finish() { asking.finish() }

    /// Answers until there will be no more questions.
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
