import MachineCore
import SessionCore

/// The state of a ``WebSocket``.
public enum WebSocketState: Sendable {
    /// Not started yet, disconnected by the app, or lost while ``WebSocketOptions/reconnects`` is false; only a loss has an error.
    ///
    /// The socket makes no attempt until ``WebSocket/connect()``.
    case disconnected(WebSocketError?)
    /// An attempt is in progress; the number counts from 1 since the last stable connection.
    case connecting(attempt: Int)
    /// There is a connection.
    case connected(since: ContinuousClock.Instant)
    /// The next attempt starts at this time.
    case waiting(until: ContinuousClock.Instant, cause: WebSocketError?)
    /// The app is in the background, or there is no network; the socket makes no attempt until that changes.
    case held
    /// The app has asked to close the socket.
    case closing
    /// Closed for good; the error is nil if this side closed, or the peer closed with 1000.
    case closed(WebSocketError?)

    /// Whether there is a connection.
    public var isConnected: Bool { if case .connected = self { true } else { false } }

    /// Creates the state for a phase; nil for `stopped`, because the session reports the end itself with its reason.
    init?(_ phase: Reconnector.Phase, at now: Moment, cause: WebSocketError?) {
        switch phase {
        case .idle: self = .disconnected(cause)
        case .connecting(let attempt): self = .connecting(attempt: attempt.number)
        case .connected(_, let since), .handingOver(_, let since, _): self = .connected(since: .now + (since - now))
        case .waiting(let until, _): self = .waiting(until: .now + (until - now), cause: cause)
        case .held: self = .held
        case .stopped: return nil
        }
    }
}
