internal import WebSocketRuntime

/// A clock that moves only when a test advances it, and that reports when code starts to wait.
///
/// A test waits until the code under test sleeps, then moves time exactly to where it is needed. There is no real waiting, no polling and
/// no randomness.
/// ```swift
/// let clock = ManualClock()
/// let connection = Task { try await connect(timeout: .seconds(10), clock: clock) }
/// let timeout = await clock.nextSleep()   // 10 seconds
/// clock.advance(by: timeout)
/// ```
public final class ManualClock: Clock {
    /// A point in this clock's time.
    public struct Instant: InstantProtocol {
        /// The time since the clock was created.
        public let offset: Duration

        /// Returns the instant this much later.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        /// Returns the time from this instant to another.
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        /// Whether `lhs` comes before `rhs`.
        public static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
    }

    private struct Sleeper {
        let id: UInt64
        let until: Instant
        let wake: AsyncStream<Never>.Continuation
    }
    private struct State {
        var now = Instant(offset: .zero)
        var sleepers: [Sleeper] = []
        var lastID: UInt64 = 0
    }

    private let state = LockedValue(State())
    private let sleeps: AsyncStream<Instant>
    private let announce: AsyncStream<Instant>.Continuation

    /// Creates a clock at time zero.
    public init() { (sleeps, announce) = AsyncStream.makeStream() }

    /// The current time of this clock.
    public var now: Instant { state.withLockedValue({ $0.now }) }
    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Suspends until the clock has reached the deadline; throws `CancellationError` when cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let (waking, wake) = AsyncStream.makeStream(of: Never.self)
        let sleeper = state.withLockedValue { state -> Sleeper? in
            guard deadline > state.now else { return nil }
            state.lastID += 1
            let sleeper = Sleeper(id: state.lastID, until: deadline, wake: wake)
            state.sleepers.append(sleeper)
            return sleeper
        }
        if let sleeper {
            announce.yield(deadline)
            for await _ in waking {}  // Ends when woken or cancelled.
            state.withLockedValue { $0.sleepers.removeAll { $0.id == sleeper.id } }
        }
        try Task.checkCancellation()
    }

    /// Waits until a task sleeps on this clock, and returns how far its deadline is ahead of ``now``.
    ///
    /// Reports each sleep once, in the order in which the sleeps began, including those that began before this call. A sleep whose
    /// deadline has already passed is not reported.
    /// Call it from one task at a time; a cancelled task gets zero.
    @discardableResult
    public func nextSleep() async -> Duration {
        var iterator = sleeps.makeAsyncIterator()
        guard let deadline = await iterator.next() else { return .zero }
        return now.duration(to: deadline)
    }

    /// Advances the time and wakes every task whose deadline has passed, the earliest first.
    public func advance(by duration: Duration) {
        let due = state.withLockedValue { state in
            state.now = state.now.advanced(by: duration)
            let firstAwake = state.sleepers.partition { $0.until <= state.now }
            defer { state.sleepers.removeSubrange(firstAwake...) }
            return state.sleepers[firstAwake...].sorted { ($0.until, $0.id) < ($1.until, $1.id) }
        }
        for sleeper in due { sleeper.wake.finish() }
    }
}
