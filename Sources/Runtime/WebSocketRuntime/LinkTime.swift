public import MachineCore

/// A clock of any kind, read as moments of one link's timeline.
@usableFromInline package struct LinkTime: Sendable {
    /// The present.
    @usableFromInline package let now: @Sendable () -> Moment
    /// Returns then; throws when the task is cancelled.
    @usableFromInline package let sleep: @Sendable (_ until: Moment) async throws -> Void

    /// A timeline that begins at the clock's present.
    package init<C: Clock>(_ clock: C) where C.Duration == Duration {
        let origin = clock.now
        now = { Moment(origin.duration(to: clock.now)) }
        sleep = { try await clock.sleep(until: origin.advanced(by: $0.offset), tolerance: nil) }
    }

    /// A timeline that runs already, on which one can sleep for a while.
    package init(now: @escaping @Sendable () -> Moment, pause: @escaping @Sendable (Duration) async throws -> Void) {
        self.now = now
        sleep = { try await pause($0 - now()) }
    }
}
