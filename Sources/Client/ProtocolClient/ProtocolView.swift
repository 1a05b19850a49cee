public import Holdfast
public import ProtocolCore
public import WebSocketCore

/// What an app sees of a protocol, as a value that its shell keeps behind a lock.
@usableFromInline package protocol ProtocolView: Sendable {
    /// The protocol's rules.
    associatedtype Rules: ProtocolMachine
    /// Its messages on the wire.
    associatedtype Coding: ProtocolCoding
    where Coding.Greeting == Rules.Greeting, Coding.Received == Rules.Received, Coding.Sent == Rules.Sent
    /// What never changes, and is read without the lock: options, the log.
    associatedtype Context: Sendable
    /// Something to do once the lock is free: to wake a task, or to call what the app has given.
    associatedtype Deed: Sendable

    /// The coding of a new connection; nil if the server has agreed on no subprotocol of ours. Called without the lock.
    static func coding(for opening: Opening, _ context: Context) -> Coding?

    /// There is a new connection.
    ///
    /// - Returns: How to end it, without telling the rules of it; nil: it is used.
    mutating func open(_ coding: Coding?, in shell: ProtocolShell<Self>, _ deeds: inout [Deed]) -> ConnectionEnd?
    /// There is no connection: told also where there was none.
    ///
    /// - Parameters:
    ///   - cause: Why, as far as the socket has said.
    ///   - isRetrying: The socket has planned its next attempt.
    mutating func lose(because cause: WebSocketError?, isRetrying: Bool, in shell: ProtocolShell<Self>, _ deeds: inout [Deed])
    /// The rules tell something.
    mutating func hear(_ event: Rules.Event, in shell: ProtocolShell<Self>, _ deeds: inout [Deed])
    /// Nothing more comes. How the socket ended; nil if the app has let go of the client.
    mutating func end(_ closure: Closure?, in shell: ProtocolShell<Self>, _ deeds: inout [Deed])
    /// Does something, without the lock.
    static func perform(_ deed: Deed, in shell: ProtocolShell<Self>)
}

/// How the messages of a protocol lie in messages of a WebSocket, on one connection.
@usableFromInline package protocol ProtocolCoding: Sendable {
    /// What the app says of itself on this connection.
    associatedtype Greeting: Sendable
    /// A message of the peer's.
    associatedtype Received: Sendable
    /// A message to the peer.
    associatedtype Sent: Sendable

    /// What the app says of itself on this connection.
    var greeting: Greeting { get }
    /// What the peer has sent; nil if a later version of the protocol may send it, and it says nothing to this one.
    func decode(_ message: Message) throws -> Received?
    /// What to send.
    func encode(_ message: Sent) throws -> Message
}

extension ProtocolCoding where Greeting == NoGreeting {
    @inlinable package var greeting: NoGreeting { nil }
}
