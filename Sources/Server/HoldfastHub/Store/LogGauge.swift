import WebSocketRuntime

/// The writer's health and figures, for readers that must not wait for the writer.
final class LogGauge: Sendable {
    /// A transaction that takes longer counts as failed, because it may never end.
    static let patience: Duration = .seconds(3)

    private struct State {
        var health = LogHealth.healthy
        var figures = LogFigures()
        /// When the current operation began; nil if there is none.
        var began: ContinuousClock.Instant?
    }
    private let state = LockedValue(State())

    func health(at now: ContinuousClock.Instant = .now) -> LogHealth {
        state.withLockedValue { state in
            guard state.health.isHealthy, let began = state.began else { return state.health }
            let taken = began.duration(to: now)
            guard taken > Self.patience else { return .healthy }
            return .failing(.failed("it has waited for the disk, or for a lock on the file, for \(taken.components.seconds) s"))
        }
    }

    var figures: LogFigures { state.withLockedValue({ $0.figures }) }

    func notify(_ health: LogHealth) { state.withLockedValue { $0.health = health } }
    func notify(_ figures: LogFigures, openRooms: Int) {
        state.withLockedValue {
            $0.figures = figures
            $0.figures.openRooms = openRooms
        }
    }
    func begin(at now: ContinuousClock.Instant = .now) { state.withLockedValue { $0.began = now } }
    func end() { state.withLockedValue { $0.began = nil } }
}
