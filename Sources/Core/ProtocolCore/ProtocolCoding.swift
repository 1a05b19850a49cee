public import WebSocketCore

/// How the messages of a protocol lie in messages of a WebSocket, on one connection.
public protocol ProtocolCoding: Sendable {
    /// What the app says of itself on this connection.
    associatedtype Greeting: Sendable = NoGreeting
    /// A message of the peer's.
    associatedtype Received: Sendable
    /// A message to the peer.
    associatedtype Sent: Sendable

    /// What the app says of itself on this connection.
    var greeting: Greeting { get }
    /// What the peer has sent; nil if a later version of the protocol may send it, and it says nothing to this one.
    ///
    /// What it throws reaches the machine as `undecodable`.
    func decode(_ message: Message) throws -> Received?
    /// What to send. If it throws, the connection is rejected with 1011, for the peer would miss something.
    ///
    /// A message that is sent again on each connection must not throw: write what may fail before you give it to the rules.
    func encode(_ message: Sent) throws -> Message
    /// Whether a message is left out rather than sent late; by default none is.
    func isEphemeral(_ message: Sent) -> Bool
}

extension ProtocolCoding {
    /// No message is left out.
    @inlinable public func isEphemeral(_ message: Sent) -> Bool { false }
}

extension ProtocolCoding where Greeting == NoGreeting {
    /// The app says nothing of itself.
    @inlinable public var greeting: NoGreeting { nil }
}
