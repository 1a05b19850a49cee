import WebSocketRuntime

/// What the one who writes a log tells of itself, for those who must not wait until it has written.
final class LogGauge: Sendable {
    /// A transaction that takes longer is as good as one that fails: nobody knows when it ends.
    static let patience: Duration = .seconds(3)

    private struct State {
        var health = LogHealth.healthy
        var figures = LogFigures()
        /// Since when it is at work; nil: it is not.
        var began: ContinuousClock.Instant?
    }
    private let state = LockedValue(State())

    func health(at now: ContinuousClock.Instant = .now) -> LogHealth {
        state.withLockedValue { state in
            guard state.health.isHealthy, let began = state.began else { return state.health }
            let taken = began.duration(to: now)
            guard taken > Self.patience else { return .healthy }
            return .failing(.failed("it has waited for the disk, or for somebody who holds the file, for \(taken.components.seconds) s"))
        }
    }

    var figures: LogFigures { state.withLockedValue(\.figures) }

    func tell(_ health: LogHealth) { state.withLockedValue { $0.health = health } }
    func tell(_ figures: LogFigures, openRooms: Int) {
        state.withLockedValue {
            $0.figures = figures
            $0.figures.openRooms = openRooms
        }
    }
    func begin(at now: ContinuousClock.Instant = .now) { state.withLockedValue { $0.began = now } }
    func end() { state.withLockedValue { $0.began = nil } }
}
