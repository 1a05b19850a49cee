/// The client's session state for the app, derived from the machine's events and the state of the socket.
///
/// Causes are errors of the shell, which knows more about the socket than the machine.
package struct ClientStatus<Cause: Sendable>: Sendable {
    /// The state of a client.
    package enum State: Sendable {
        /// The client is connecting, or the session is joining.
        case connecting
        /// The session has joined.
        case joined(JoinedSession)
        /// There is no connection, and the client will retry by itself; the cause, if it is known.
        case waiting(Cause?)
        /// The client has ended for good, for this cause.
        case closed(Cause)
    }

    /// The session, if it has joined.
    package private(set) var session: JoinedSession?
    /// Why there is no session at present.
    package private(set) var cause: Cause?
    /// Why the client has ended for good; the socket may still be closing.
    package private(set) var ending: Cause?
    /// Why there is no session, at present or for good.
    package var reason: Cause? { cause ?? ending }
    private var isConnected = false
    private var isWaiting = false
    /// Whether the machine ended the connection for `cause`; the socket's cause would only say that it was closed.
    private var isDropped = false

    /// Creates the state of a client without a connection.
    package init() {}

    package var state: State {
        if let ending { return .closed(ending) }
        if let session { return .joined(session) }
        return isWaiting ? .waiting(cause) : .connecting
    }

    /// Records a new connection.
    package mutating func open() { (isConnected, isWaiting, cause, isDropped) = (true, false, nil, false) }

    package mutating func join(_ session: JoinedSession) { (self.session, cause) = (session, nil) }

    package mutating func part() { session = nil }

    /// Records that the machine ends the connection.
    ///
    /// - Parameters:
    ///   - cause: Why; nil: the app left.
    ///   - ending: The same cause, if another connection cannot help.
    package mutating func drop(because cause: Cause?, ending: Cause?) {
        if let cause { (self.cause, isDropped) = (cause, true) }
        (session, isWaiting) = (nil, true)
        end(because: ending)
    }

    /// Records that the connection is lost; may be called without a connection.
    ///
    /// - Parameters:
    ///   - cause: Why, as far as the socket has reported.
    ///   - isRetrying: Whether the socket has planned its next attempt.
    /// - Returns: Whether there was a connection.
    package mutating func lose(because cause: Cause?, isRetrying: Bool) -> Bool {
        if let cause, !isDropped { self.cause = cause }
        if isRetrying { (isDropped, isWaiting) = (false, true) }
        guard isConnected else { return false }
        (isConnected, session, isWaiting) = (false, nil, true)
        return true
    }

    /// Records that the client has ended for good; the first cause counts, and nil is ignored.
    package mutating func end(because ending: Cause?) { self.ending = self.ending ?? ending }
}
