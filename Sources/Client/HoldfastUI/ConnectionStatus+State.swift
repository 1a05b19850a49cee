public import Holdfast

extension ConnectionStatus {
    /// What a state means to people at the moment `now`.
    public init(_ state: WebSocketState, at now: ContinuousClock.Instant) {
        switch state {
        case .connecting: self = .connecting
        case .connected: self = .connected
        case .waiting(let until, _):
            let left = now.duration(to: until)
            // Begun seconds count: it never says 0, and says 1 for the last of them.
            let seconds = left.components.seconds + (left.components.attoseconds > 0 ? 1 : 0)
            self = .reconnecting(seconds: max(1, Int(clamping: seconds)))
        case .disconnected, .held: self = .offline
        case .closing: self = .closed(isFailure: false)
        case .closed(let error): self = .closed(isFailure: error != nil)
        }
    }

    /// When the words for this state change by themselves; nil if they do not.
    static func nextChange(of state: WebSocketState, after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard case .waiting(let until, _) = state, case .reconnecting(let seconds) = Self(state, at: now), seconds > 1 else { return nil }
        return until - .seconds(seconds - 1)
    }
}
