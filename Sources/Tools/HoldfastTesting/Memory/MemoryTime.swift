import Holdfast

/// A clock of any kind, read as moments of one link's timeline.
struct MemoryTime: Sendable {
    let now: @Sendable () -> Moment
    let sleep: @Sendable (_ until: Moment) async throws -> Void

    init<C: Clock>(_ clock: C) where C.Duration == Duration {
        let origin = clock.now
        now = { Moment(origin.duration(to: clock.now)) }
        sleep = { try await clock.sleep(until: origin.advanced(by: $0.offset), tolerance: nil) }
    }
}
