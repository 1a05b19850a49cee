import RoomCore

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
