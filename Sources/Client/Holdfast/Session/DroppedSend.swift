public import SessionCore
public import WebSocketCore

/// A message of ours that was accepted for sending, or would have been, and never left.
public struct DroppedSend: Sendable {
    /// What was to be sent.
    public let message: Message
    /// With which urgency.
    public let lane: Lane
    /// Why it was not: it gave way to others, was overdue, or the socket was closed.
    public let refusal: SendRefusal

    /// A message that was dropped.
    public init(message: Message, lane: Lane, refusal: SendRefusal) { (self.message, self.lane, self.refusal) = (message, lane, refusal) }
}
