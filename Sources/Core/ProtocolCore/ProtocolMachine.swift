public import MachineCore

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
    case lost(unsent: [Types.Sent])
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
    /// Without a connection, only ``ConnectionEnd/stop`` has an effect.
    case end(ConnectionEnd)
    /// Report an event to the app.
    case event(Types.Event)
}

extension ProtocolInput: Equatable
where Types.Greeting: Equatable, Types.Sent: Equatable, Types.Received: Equatable, Types.Command: Equatable {}
extension ProtocolInput: Hashable
where Types.Greeting: Hashable, Types.Sent: Hashable, Types.Received: Hashable, Types.Command: Hashable {}
extension ProtocolEffect: Equatable where Types.Sent: Equatable, Types.Event: Equatable {}
extension ProtocolEffect: Hashable where Types.Sent: Hashable, Types.Event: Hashable {}
