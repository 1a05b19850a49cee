public import WAMPCore

/// How a ``WAMPClient`` stands with its router; see ``WAMPClient/states``.
public enum WAMPState: Sendable {
    /// A connection is being made, or the session is joining.
    case connecting
    /// The session has joined its realm.
    case joined(JoinedSession)
    /// There is no connection, and another attempt follows by itself; why, if that is known.
    case waiting(WAMPError?)
    /// Over for good: nil if the app has closed.
    case closed(WAMPError?)

    /// The session, if it has joined.
    public var session: JoinedSession? { if case .joined(let session) = self { session } else { nil } }
}
