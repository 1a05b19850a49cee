/// How a send ended: in exactly one of these.
public enum SendFate: Hashable, Sendable {
    /// The socket took every byte; whether the peer got them, only the peer can tell.
    case written
    /// It never left, and may safely be sent again.
    case refused(SendRefusal)
    /// The connection died after it had taken the message: it may have arrived or not.
    case unknown
}
