public import Holdfast
public import ProtocolCore

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
    associatedtype Action: Sendable

    /// The coding of a new connection. Called without the lock; nothing of the connection is read before it returns.
    ///
    /// - Throws: How to end the connection, of which the rules hear nothing: the server has agreed on no subprotocol of ours, say.
    static func coding(for opening: Opening, in shell: ProtocolShell<Self>) async throws(ConnectionEnd) -> Coding
    /// Whether another message can be taken; asked after each. If not, ``pace(in:)`` waits until one can.
    static func mayReadOn(in shell: ProtocolShell<Self>) -> Bool
    /// Waits until another message can be taken.
    static func pace(in shell: ProtocolShell<Self>) async

    /// There is a new connection.
    mutating func open(_ coding: Coding, in shell: ProtocolShell<Self>, _ actions: inout [Action])
    /// The connection serves the protocol.
    mutating func becomeReady(in shell: ProtocolShell<Self>, _ actions: inout [Action])
    /// There is no connection: told also where there was none.
    ///
    /// - Parameters:
    ///   - cause: Why, as far as the socket has said.
    ///   - isRetrying: The socket has planned its next attempt.
    mutating func lose(because cause: WebSocketError?, isRetrying: Bool, in shell: ProtocolShell<Self>, _ actions: inout [Action])
    /// The rules tell something.
    mutating func hear(_ event: Rules.Event, in shell: ProtocolShell<Self>, _ actions: inout [Action])
    /// The rules end the present connection, or the socket.
    mutating func drop(_ end: ConnectionEnd, in shell: ProtocolShell<Self>)
    /// Nothing more comes.
    ///
    /// - Parameter closure: How the socket ended; nil if it goes on, or nothing is known of it.
    mutating func end(_ closure: Closure?, in shell: ProtocolShell<Self>, _ actions: inout [Action])
    /// Does something, without the lock.
    static func perform(_ action: Action, in shell: ProtocolShell<Self>)
}

extension ProtocolView {
    @inlinable package static func mayReadOn(in shell: ProtocolShell<Self>) -> Bool { true }
    @inlinable package static func pace(in shell: ProtocolShell<Self>) async {}
    @inlinable package mutating func becomeReady(in shell: ProtocolShell<Self>, _ actions: inout [Action]) {}
    @inlinable package mutating func drop(_ end: ConnectionEnd, in shell: ProtocolShell<Self>) {}
}
