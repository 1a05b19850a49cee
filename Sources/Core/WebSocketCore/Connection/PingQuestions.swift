public import MachineCore

/// Keeps count of the answers that are still to come, where a message asks in place of a ping.
///
/// Answers name no question, so they are taken to come in order.
public struct PingQuestions: Hashable, Sendable {
    private var asked: [Moment] = []

    /// No question was asked.
    public init() {}

    /// Whether no answer is expected.
    public var isEmpty: Bool { asked.isEmpty }

    /// A question leaves; those that are older than `patience` have no answer any more.
    public mutating func ask(at now: Moment, patience: Duration) {
        asked.removeAll { now - $0 > patience }
        asked.append(now)
    }

    /// An answer arrived; returns whether it is that of the newest question.
    public mutating func answer() -> Bool {
        guard !asked.isEmpty else { return false }
        asked.removeFirst()
        return asked.isEmpty
    }
}
