public import WebSocketCore

/// A message of which a typed stream could make nothing; see ``WebSocket/stream(of:where:delivery:)``.
public struct UndecodableMessage: Sendable {
    /// The message, whole.
    public let message: Message
    /// What it should have become.
    public let type: String
    /// What the codec says of it.
    public let error: any Error

    /// A report, as a typed stream makes it; for tests of what hears of it.
    public init(message: Message, type: String, error: any Error) { (self.message, self.type, self.error) = (message, type, error) }
}
