/// How a connection ended: what each side said, and who spoke first.
public struct CloseRecord: Hashable, Sendable {
    /// One of the two ends of a connection.
    public enum Side: Hashable, Sendable {
        /// This end.
        case local
        /// The peer.
        case remote
    }

    /// The close frame this side sent, if any.
    public var sent: CloseFrame?
    /// The close frame the peer sent, if any.
    public var received: CloseFrame?
    /// Whose close frame was first; nil when the connection was lost without one.
    public var closedFirst: Side?
    /// Whether both close frames were exchanged before TCP ended (RFC 6455 §7.1.4).
    public var isClean: Bool

    /// A record of these facts; by default, of a connection lost without a close frame.
    public init(sent: CloseFrame? = nil, received: CloseFrame? = nil, closedFirst: Side? = nil, isClean: Bool = false) {
        (self.sent, self.received, self.closedFirst, self.isClean) = (sent, received, closedFirst, isClean)
    }

    /// The code that the connection closed with, as RFC 6455 §7.1.5 defines it: 1005 for an empty close frame, 1006 for none.
    public var code: CloseCode {
        guard let received else { return .abnormal }
        return received.code ?? .noStatus
    }
}
