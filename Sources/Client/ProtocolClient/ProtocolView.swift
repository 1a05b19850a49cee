public import Holdfast
public import ProtocolCore
public import WebSocketCore

/// What an app sees of a protocol, as a value that its shell keeps behind a lock.
@usableFromInline package protocol ProtocolView: Sendable {
    /// The protocol's rules.
    associatedtype Rules: ProtocolMachine
    /// Its messages on the wire.
    associatedtype Coding: ProtocolCoding where Coding.Received == Rules.Received, Coding.Sent == Rules.Sent

    /// Takes what the machine tells, and adds whom to wake.
    mutating func hear(_ event: Rules.Event, waking woken: inout [Changes])
    /// Nothing more comes; adds whom to wake.
    mutating func end(waking woken: inout [Changes])
}

/// How the messages of a protocol lie in messages of a WebSocket, on one connection.
@usableFromInline package protocol ProtocolCoding: Sendable {
    /// A message of the peer's.
    associatedtype Received: Sendable
    /// A message to the peer.
    associatedtype Sent: Sendable

    /// The coding of a subprotocol that the server has agreed on; nil if it is none of ours.
    init?(subprotocol: String?)
    /// What the peer has sent; nil if a later version of the protocol may send it, and it says nothing to this one.
    func decode(_ message: Message) throws -> Received?
    /// What to send.
    func encode(_ message: Sent) throws -> Message
}
