/// Where one task waits for one value, and then goes on at once where it came from.
///
/// A continuation would do, but the runtime resumes every continuation on the global pool, and only from there sends the task
/// back to its actor: two changes of threads for each message, however near the two sides are. Here the task is held as a
/// job of an executor of its own instead, and leaves from the thread that calls it.
///
/// SAFETY: the value is written before the task is let go, and read by the task alone.
package final class Parking<Value: Sendable>: @unchecked Sendable {
    private let place = ParkingPlace()
    @exclusivity(unchecked) private var value: Value?

    package init() {}

    /// Hands over the value; to be called once for each wait.
    ///
    /// All that the task does on this thread is to go where it came from.
    package func call(_ value: consuming Value) {
        self.value = value
        place.open()
    }

    /// Waits for the value; one task at a time may.
    package func wait() async -> Value {
        await place.pass()
        return take()
    }

    /// Waits until there is a value to ``take()``; its caller goes back by itself to where it belongs.
    func park() async { await place.pass() }

    /// Takes the value that has come; then the place may be used again.
    func take() -> Value {
        guard let value = value.take() else { preconditionFailure("a parked task ran before it was called") }
        return value
    }
}

/// Holds a task between its call of ``pass()`` and somebody's of ``open()``.
///
/// Not generic, for the metadata of a generic actor would be looked up at each step.
private final actor ParkingPlace: SerialExecutor {
    private enum State {
        /// → `parked` when the task comes, → `open` when it may go before it has come.
        case empty
        /// → `empty` when the task goes.
        case parked(UnownedJob)
        /// → `empty` when the task comes, and goes at once.
        case open
    }
    private nonisolated let state = LockedValue(State.empty)
    private var passed = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { asUnownedSerialExecutor() }

    nonisolated func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isOpen = state.withLockedValue { state in
            if case .open = state {
                state = .empty
                return true
            }
            state = .parked(job)
            return false
        }
        if isOpen { job.runSynchronously(on: unownedExecutor) }
    }

    nonisolated func open() {
        let job: UnownedJob? = state.withLockedValue { state in
            if case .parked(let job) = state {
                state = .empty
                return job
            }
            state = .open
            return nil
        }
        job?.runSynchronously(on: unownedExecutor)
    }

    @inline(never)
    func pass() {
        // To get here is to be called; without state of the actor's own to touch, the compiler might leave out the way.
        passed &+= 1
    }
}
