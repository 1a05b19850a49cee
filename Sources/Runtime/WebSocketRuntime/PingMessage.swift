public import WebSocketCore

/// A message that is sent instead of a ping, for servers that do not answer pings.
///
/// It is sent whenever an automatic ping would be, and as with a ping any received byte shows that the peer is alive. The answer gives
/// the round-trip time. Both closures are called on the connection's own thread, the second for every message that arrives while an
/// answer is expected. They must return at once.
public struct PingMessage: Sendable {
    /// Creates the message.
    public var make: @Sendable () -> Message
    /// Whether a message is the answer.
    public var isAnswer: @Sendable (Message) -> Bool
    /// Whether the app receives the answers, too.
    ///
    /// An answer that was not asked for is always delivered as an ordinary message, and so is one that arrives after the next question
    /// and later than a pong might.
    public var showsAnswers: Bool

    /// Creates a ping message; by default the app does not receive the answers.
    public init(
        showsAnswers: Bool = false, _ make: @escaping @Sendable () -> Message, isAnswer: @escaping @Sendable (Message) -> Bool
    ) {
        (self.make, self.isAnswer, self.showsAnswers) = (make, isAnswer, showsAnswers)
    }
}

extension PingMessage {
    /// Removes the expected answers from a received batch, unless the app receives them, too.
    ///
    /// - Returns: Whether the newest question was answered.
    package func takeAnswers(from batch: inout ReceivedBatch, to questions: inout PingQuestions) -> Bool {
        var (rest, isNewest) = (ReceivedBatch(), false)
        while let received = batch.popFirst() {
            if case .message(let message) = received, !questions.isEmpty, isAnswer(message) {
                if questions.answer() { isNewest = true }
                if !showsAnswers { continue }
            }
            rest.append(received)
        }
        batch = rest
        return isNewest
    }
}
