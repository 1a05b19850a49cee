/// How a client stands with its router, for the app to see: out of what the rules tell, and of what becomes of the socket.
///
/// The causes are the shell's errors, which say more of the socket than the rules know.
package struct ClientStanding<Cause: Sendable>: Sendable {
    /// How it stands.
    package enum State: Sendable {
        /// A connection is being made, or the session is joining.
        case connecting
        /// The session has joined.
        case joined(JoinedSession)
        /// There is no connection, and another attempt follows by itself; why, if that is known.
        case waiting(Cause?)
        /// Over for good: why.
        case closed(Cause)
    }

    /// The session, if it has joined.
    package private(set) var session: JoinedSession?
    /// Why there is no session at present.
    package private(set) var cause: Cause?
    /// Why nothing more happens; the socket may still be closing.
    package private(set) var ending: Cause?
    /// Why there is no session, at present or for good.
    package var reason: Cause? { cause ?? ending }
    private var isConnected = false
    private var isWaiting = false
    /// The rules have ended the connection, for that cause; the socket's would only say that it was closed.
    private var isDropped = false

    /// No connection yet.
    package init() {}

    package var state: State {
        if let ending { return .closed(ending) }
        if let session { return .joined(session) }
        return isWaiting ? .waiting(cause) : .connecting
    }

    /// There is a new connection.
    package mutating func open() { (isConnected, isWaiting, cause, isDropped) = (true, false, nil, false) }

    package mutating func join(_ session: JoinedSession) { (self.session, cause) = (session, nil) }

    package mutating func part() { session = nil }

    /// The rules end the connection.
    ///
    /// - Parameters:
    ///   - cause: Why; nil: the app left.
    ///   - ending: The same where another connection cannot help.
    package mutating func drop(because cause: Cause?, ending: Cause?) {
        if let cause { (self.cause, isDropped) = (cause, true) }
        (session, isWaiting) = (nil, true)
        end(because: ending)
    }

    /// The connection is gone; may be called when there was none.
    ///
    /// - Parameters:
    ///   - cause: Why, as far as the socket has said.
    ///   - isRetrying: The socket has planned its next attempt.
    /// - Returns: Whether there was one.
    package mutating func lose(because cause: Cause?, isRetrying: Bool) -> Bool {
        if let cause, !isDropped { self.cause = cause }
        if isRetrying { (isDropped, isWaiting) = (false, true) }
        guard isConnected else { return false }
        (isConnected, session, isWaiting) = (false, nil, true)
        return true
    }

    /// Nothing more happens; the first that says why is right, and nil says nothing.
    package mutating func end(because ending: Cause?) { self.ending = self.ending ?? ending }
}
