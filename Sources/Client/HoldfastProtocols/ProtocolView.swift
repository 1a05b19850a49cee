public import Holdfast
public import ProtocolCore

/// The app's view of a protocol, a value that the shell protects with a lock.
@usableFromInline package protocol ProtocolView: Sendable {
    /// The rules of the protocol.
    associatedtype Rules: ProtocolMachine
    /// The coding of its messages.
    associatedtype Coding: ProtocolCoding
    where Coding.Greeting == Rules.Greeting, Coding.Received == Rules.Received, Coding.Sent == Rules.Sent
    /// Constant values that are read without the lock: options, the log.
    associatedtype Context: Sendable
    /// An action for after the lock is released, such as waking a task or calling a callback of the app.
    associatedtype Action: Sendable

    /// Returns the coding of a new connection; called without the lock, and nothing of the connection is read before it returns.
    ///
    /// - Throws: How to end the connection without telling the rules, for example if the server agreed on no known subprotocol.
    static func coding(for opening: Opening, in shell: ProtocolShell<Self>) async throws(ConnectionEnd) -> Coding
    /// Returns whether another message can be read; asked after each message. If not, ``pace(in:)`` waits until one can.
    static func mayReadOn(in shell: ProtocolShell<Self>) -> Bool
    /// Waits until another message can be read.
    static func pace(in shell: ProtocolShell<Self>) async

    /// Handles a new connection.
    mutating func open(_ coding: Coding, in shell: ProtocolShell<Self>, _ actions: inout [Action])
    /// Handles that the protocol is ready on the connection.
    mutating func becomeReady(in shell: ProtocolShell<Self>, _ actions: inout [Action])
    /// Handles that there is no connection; also called if there was none before.
    ///
    /// - Parameters:
    ///   - cause: The reason, if the socket has reported one.
    ///   - isRetrying: Whether the socket has planned its next attempt.
    mutating func lose(because cause: WebSocketError?, isRetrying: Bool, in shell: ProtocolShell<Self>, _ actions: inout [Action])
    /// Handles an event of the rules.
    mutating func handle(_ event: Rules.Event, in shell: ProtocolShell<Self>, _ actions: inout [Action])
    /// Handles that the rules end the present connection, or the socket.
    mutating func drop(_ end: ConnectionEnd, in shell: ProtocolShell<Self>)
    /// Handles the end of the shell.
    ///
    /// - Parameter closure: How the socket ended; nil if it is still open, or its end is unknown.
    mutating func end(_ closure: Closure?, in shell: ProtocolShell<Self>, _ actions: inout [Action])
    /// Performs an action without the lock.
    static func perform(_ action: Action, in shell: ProtocolShell<Self>)
}

extension ProtocolView {
    @inlinable package static func mayReadOn(in shell: ProtocolShell<Self>) -> Bool { true }
    @inlinable package static func pace(in shell: ProtocolShell<Self>) async {}
    @inlinable package mutating func becomeReady(in shell: ProtocolShell<Self>, _ actions: inout [Action]) {}
    @inlinable package mutating func drop(_ end: ConnectionEnd, in shell: ProtocolShell<Self>) {}
}
