import MachineCore
import SessionCore

/// What a ``WebSocket`` is doing, for people to see.
public enum WebSocketState: Sendable {
    /// Not started yet, disconnected by the app, or lost while ``WebSocketOptions/reconnects`` is false: then with the reason.
    ///
    /// Nothing is tried until ``WebSocket/connect()``.
    case disconnected(WebSocketError?)
    /// An attempt is under way; counted from 1 since the last stable connection.
    case connecting(attempt: Int)
    /// There is a connection.
    case connected(since: ContinuousClock.Instant)
    /// The next attempt comes then.
    case waiting(until: ContinuousClock.Instant, cause: WebSocketError?)
    /// The app is in the background, or there is no network: nothing is tried until that changes.
    case held
    /// The app has asked to close.
    case closing
    /// Over for good: nil if this side closed, or the peer did with 1000.
    case closed(WebSocketError?)

    /// Whether there is a connection.
    public var isConnected: Bool { if case .connected = self { true } else { false } }

    /// Nil for the end, which has a reason of its own.
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
