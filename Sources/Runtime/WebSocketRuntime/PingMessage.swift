public import WebSocketCore

/// A message that asks whether the peer lives, in place of a ping: for servers that answer no pings.
///
/// It leaves whenever an automatic ping would, and as with a ping any byte answers it: only silence is death. The answer tells the
/// round trip. Both closures are called on the connection's own thread, the second for every message that arrives while an answer is
/// expected: they must return at once.
public struct PingMessage: Sendable {
    /// Makes the message.
    public var make: @Sendable () -> Message
    /// Whether a message is the answer.
    public var isAnswer: @Sendable (Message) -> Bool
    /// Whether the app gets the answers, too.
    ///
    /// An answer that nobody had asked for, or that comes after the next question and later than a pong might, is a message as any other.
    public var showsAnswers: Bool

    /// A question and its answer; by default the app does not see the answer.
    public init(
        showsAnswers: Bool = false, _ make: @escaping @Sendable () -> Message, isAnswer: @escaping @Sendable (Message) -> Bool
    ) {
        (self.make, self.isAnswer, self.showsAnswers) = (make, isAnswer, showsAnswers)
    }
}

extension PingMessage {
    /// Takes the answers that are expected out of what was received.
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
