public import WebSocketCore

/// Encodes and decodes the messages of a protocol on one connection.
public protocol ProtocolCoding: Sendable {
    /// The data that the app sends when a connection opens.
    associatedtype Greeting: Sendable = NoGreeting
    /// A message from the peer.
    associatedtype Received: Sendable
    /// A message to the peer.
    associatedtype Sent: Sendable

    /// The data that the app sends on this connection when it opens.
    var greeting: Greeting { get }
    /// Decodes a message from the peer; returns nil for a message of a later protocol version that this version ignores.
    ///
    /// An error reaches the machine as `undecodable`.
    func decode(_ message: Message) throws -> Received?
    /// Encodes a message to the peer.
    ///
    /// If it throws, the connection is rejected with 1011, because the peer would miss a message. A message that is sent again on each
    /// connection must not throw. Do the encoding that may fail before you pass the message to the machine.
    func encode(_ message: Sent) throws -> Message
    /// Returns whether to drop a message rather than send it late; false by default.
    func isEphemeral(_ message: Sent) -> Bool
}

extension ProtocolCoding {
    /// Returns false: no message is dropped.
    @inlinable public func isEphemeral(_ message: Sent) -> Bool { false }
}

extension ProtocolCoding where Greeting == NoGreeting {
    /// No greeting.
    @inlinable public var greeting: NoGreeting { nil }
}
