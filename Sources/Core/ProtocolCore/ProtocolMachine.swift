public import MachineCore
public import WebSocketCore

/// The types of a protocol: the inputs and the effects of its machine.
public protocol ProtocolTypes {
    /// The data that the app sends on each new connection, such as a token; ``NoGreeting`` by default.
    associatedtype Greeting: Sendable = NoGreeting
    /// A message from the peer.
    associatedtype Received: Sendable
    /// A message to the peer.
    associatedtype Sent: Sendable
    /// A command from the app.
    associatedtype Command: Sendable
    /// An event for the app.
    associatedtype Event: Sendable
}

/// The client side of a protocol that survives reconnects, as a `Machine`.
///
/// A `ProtocolClient` runs it over a `WebSocket`: it passes connections and messages to the machine as inputs, and carries out its effects
/// in order.
public protocol ProtocolMachine: Machine, ProtocolTypes
where Input == ProtocolInput<Self>, Effect == ProtocolEffect<Self> {}

/// The greeting type of a protocol without a greeting; its value is nil.
public typealias NoGreeting = Never?

/// An input of a protocol machine.
public enum ProtocolInput<Types: ProtocolTypes>: Sendable {
    /// A connection is open. State of earlier connections no longer counts.
    case opened(Types.Greeting)
    /// The connection is gone. It never took these messages.
    ///
    /// `close` is the peer's close frame; nil if the peer sent none, or if another connection replaces this one.
    case lost(unsent: [Types.Sent], close: CloseFrame? = nil)
    /// The peer has sent this message.
    case received(Types.Received)
    /// The peer has sent a message that cannot be decoded; the text says why.
    case undecodable(String)
    /// Reading is paused because the app has not taken earlier messages or the send queue is too long.
    ///
    /// Silence is not the peer's fault until `resumed`.
    case paused
    /// Reading continues.
    case resumed
    /// The app gives a command, with or without a connection.
    case command(Types.Command)
}

/// An effect of a protocol machine.
public enum ProtocolEffect<Types: ProtocolTypes>: Sendable {
    /// Send this message over the present connection.
    case send(Types.Sent)
    /// The present connection serves the protocol: the peer has accepted this client.
    ///
    /// If the connection is lost later, the next attempt may follow soon. If a connection never becomes ready, it counts as a failure and
    /// the socket's backoff grows. A protocol without a welcome message reports this with the first message received, or after the
    /// connection has lasted for a while.
    case ready
    /// End the present connection after the earlier effects. The only further input from it is `lost`.
    ///
    /// Without a connection, only ``ConnectionEnd/stop`` and ``ConnectionEnd/disconnect`` have an effect.
    case end(ConnectionEnd)
    /// Connect again after ``ConnectionEnd/disconnect``.
    case connect
    /// Report an event to the app.
    case event(Types.Event)
}

extension ProtocolInput: Equatable
where Types.Greeting: Equatable, Types.Sent: Equatable, Types.Received: Equatable, Types.Command: Equatable {}
extension ProtocolInput: Hashable
where Types.Greeting: Hashable, Types.Sent: Hashable, Types.Received: Hashable, Types.Command: Hashable {}
extension ProtocolEffect: Equatable where Types.Sent: Equatable, Types.Event: Equatable {}
extension ProtocolEffect: Hashable where Types.Sent: Hashable, Types.Event: Hashable {}

/// The id of a request of the app, such as a call or a subscription.
///
/// A `ProtocolClient` chooses it and never uses it twice.
public struct RequestID: Hashable, Comparable, Sendable {
    /// The number, counted from 1.
    public let number: UInt64

    /// Creates an id.
    ///
    /// A client makes its own ids, so this is for tests.
    public init(_ number: UInt64) { self.number = number }

    /// Returns whether `lhs` was made before `rhs`.
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.number < rhs.number }
}

/// An event for the caller that waits for one request, or for all observers of the client's events.
public protocol ProtocolEvent: Sendable {
    /// The request that the event belongs to; nil for an event for all observers.
    var request: RequestID? { get }
    /// Whether this is the last event of that request.
    ///
    /// Every request must get exactly one last event, whatever its outcome: the caller waits until then.
    var isLast: Bool { get }
}

/// How a protocol ends a connection, and whether the client connects again.
public enum ConnectionEnd: Error, Hashable, Sendable {
    /// Drops the connection at once because the peer does not answer. The client connects again.
    case cut(reason: String)
    /// Closes the connection. The socket's `LossTable` decides whether the client connects again.
    case close(CloseCode, reason: String)
    /// Closes the connection. The client connects again after the pause at the earliest.
    case reconnect(after: Duration, CloseCode, reason: String)
    /// Closes the connection because the peer broke the protocol. The client connects again after the socket's backoff, which grows each time.
    case reject(CloseCode, reason: String)
    /// Closes the connection with 1000. The client does not connect again before `ProtocolEffect.connect`.
    case disconnect
    /// Closes the connection and the socket, because another connection would not help.
    case stop
}

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
