public import MachineCore

/// What a protocol is about: the types of what its machine is told, and of what it orders and tells.
public protocol ProtocolTypes {
    /// What the app says of itself on each new connection, such as a token; by default nothing, ``NoGreeting``.
    associatedtype Greeting: Sendable = NoGreeting
    /// A message of the peer's.
    associatedtype Received: Sendable
    /// A message to the peer.
    associatedtype Sent: Sendable
    /// What the app wants.
    associatedtype Command: Sendable
    /// What the app hears of.
    associatedtype Event: Sendable
}

/// The client's side of a protocol whose connections come and go, as rules: a `Machine` whose inputs and effects are these.
///
/// A `ProtocolClient` runs it over a `WebSocket`: it tells the machine of connections and messages, and carries out its effects in order.
public protocol ProtocolMachine: Machine, ProtocolTypes
where Input == ProtocolInput<Self>, Effect == ProtocolEffect<Self> {}

/// The greeting of a protocol without one; it is nil.
public typealias NoGreeting = Never?

/// What can happen to a protocol.
public enum ProtocolInput<Types: ProtocolTypes>: Sendable {
    /// A connection is open. Nothing of an earlier one counts.
    case opened(Types.Greeting)
    /// The connection is gone, and it never took anything of these messages.
    case lost(unsent: [Types.Sent])
    /// The peer has sent this.
    case received(Types.Received)
    /// The peer has sent what cannot be decoded: why, in words.
    case undecodable(String)
    /// Reading stops, because the app has not taken what came, or too much waits to be sent. A silence is not the peer's fault until `resumed`.
    case paused
    /// Reading goes on.
    case resumed
    /// The app wants this, with a connection or without.
    case command(Types.Command)
}

/// What a protocol orders, and what it tells.
public enum ProtocolEffect<Types: ProtocolTypes>: Sendable {
    /// Send this over the present connection.
    case send(Types.Sent)
    /// The present connection serves the protocol: the peer has welcomed us. If it is lost later, the next one may follow soon.
    ///
    /// A connection that never becomes ready is a failure, after which the socket's backoff grows. A protocol without a welcome says this with the
    /// first message that comes, or once the connection has lasted for a while.
    case ready
    /// End the present connection, after what was ordered before; nothing more of it is told but `lost`.
    ///
    /// Without a connection, only ``ConnectionEnd/stop`` ends anything.
    case end(ConnectionEnd)
    /// Tell the app.
    case event(Types.Event)
}

extension ProtocolInput: Equatable
where Types.Greeting: Equatable, Types.Sent: Equatable, Types.Received: Equatable, Types.Command: Equatable {}
extension ProtocolInput: Hashable
where Types.Greeting: Hashable, Types.Sent: Hashable, Types.Received: Hashable, Types.Command: Hashable {}
extension ProtocolEffect: Equatable where Types.Sent: Equatable, Types.Event: Equatable {}
extension ProtocolEffect: Hashable where Types.Sent: Hashable, Types.Event: Hashable {}
