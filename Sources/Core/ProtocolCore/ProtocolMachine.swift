public import MachineCore

/// The client's side of a protocol whose connections come and go, as rules.
///
/// `ProtocolShell` runs it over a `WebSocket`: it tells the machine of connections and messages, and carries out its effects in order.
@usableFromInline package protocol ProtocolMachine: Machine
where Input == ProtocolInput<Received, Command>, Effect == ProtocolEffect<Sent, Event> {
    /// A message of the peer's.
    associatedtype Received: Sendable
    /// A message to the peer.
    associatedtype Sent: Sendable
    /// What the app wants.
    associatedtype Command: Sendable
    /// What the app hears of.
    associatedtype Event: Sendable
}

/// What can happen to a protocol.
@usableFromInline package enum ProtocolInput<Received: Sendable, Command: Sendable>: Sendable {
    /// A connection is open. Nothing of an earlier one counts.
    case opened
    /// The connection is gone.
    case lost
    /// The peer has sent this.
    case received(Received)
    /// The peer has sent what cannot be decoded.
    case receivedGarbage
    /// The app wants this, with a connection or without.
    case command(Command)
}

/// What a protocol orders, and what it tells.
@usableFromInline package enum ProtocolEffect<Sent: Sendable, Event: Sendable>: Sendable {
    /// Send this over the present connection.
    case send(Sent)
    /// End the present connection, after what was ordered before; `lost` follows.
    case end(ConnectionEnd)
    /// Tell the app.
    case event(Event)
}

extension ProtocolInput: Equatable where Received: Equatable, Command: Equatable {}
extension ProtocolInput: Hashable where Received: Hashable, Command: Hashable {}
extension ProtocolEffect: Equatable where Sent: Equatable, Event: Equatable {}
extension ProtocolEffect: Hashable where Sent: Hashable, Event: Hashable {}
