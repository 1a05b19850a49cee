public import MachineCore

/// What a protocol is about: the types of what its machine is told, and of what it orders and tells.
@usableFromInline package protocol ProtocolTypes {
    /// What the app says of itself on each new connection, such as a token; ``NoGreeting`` if nothing.
    associatedtype Greeting: Sendable
    /// A message of the peer's.
    associatedtype Received: Sendable
    /// A message to the peer.
    associatedtype Sent: Sendable
    /// What the app wants.
    associatedtype Command: Sendable
    /// What the app hears of.
    associatedtype Event: Sendable
}

/// The client's side of a protocol whose connections come and go, as rules.
///
/// `ProtocolShell` runs it over a `WebSocket`: it tells the machine of connections and messages, and carries out its effects in order.
@usableFromInline package protocol ProtocolMachine: Machine, ProtocolTypes
where Input == ProtocolInput<Self>, Effect == ProtocolEffect<Self> {}

/// The greeting of a protocol without one; it is nil.
@usableFromInline package typealias NoGreeting = Never?

/// What can happen to a protocol.
@usableFromInline package enum ProtocolInput<Types: ProtocolTypes>: Sendable {
    /// A connection is open. Nothing of an earlier one counts.
    case opened(Types.Greeting)
    /// The connection is gone, and it never took anything of these messages.
    case lost(unsent: [Types.Sent])
    /// The peer has sent this.
    case received(Types.Received)
    /// The peer has sent what cannot be decoded: why, in words.
    case undecodable(String)
    /// The app wants this, with a connection or without.
    case command(Types.Command)
}

/// What a protocol orders, and what it tells.
@usableFromInline package enum ProtocolEffect<Types: ProtocolTypes>: Sendable {
    /// Send this over the present connection.
    case send(Types.Sent)
    /// End the present connection, after what was ordered before; `lost` follows. Without one, only ``ConnectionEnd/stop`` ends anything.
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
