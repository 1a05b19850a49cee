/// A place where one task waits for one value, and then resumes directly on its own executor.
///
/// With a continuation, the runtime would resume the task on the global pool first, and only then send it back to its actor. That costs
/// two thread changes per message, however close the two sides are. Here the task is held as a job of an executor of its own instead, and
/// leaves from the thread that calls it.
///
/// SAFETY: the value is written before the task is released, and read by the task alone.
package final class Parking<Value: Sendable>: @unchecked Sendable {
    private let place = ParkingPlace()
    @exclusivity(unchecked) private var value: Value?

    package init() {}

    /// Sets the value and releases the task; must be called once for each wait.
    ///
    /// On this thread the task only moves to its own executor.
    package func call(_ value: consuming Value) {
        self.value = value
        place.open()
    }

    /// Waits for the value; only one task at a time may wait.
    package func wait() async -> Value {
        await place.pass()
        return take()
    }

    /// Waits until there is a value to ``take()``; the caller returns to its own executor by itself.
    func park() async { await place.pass() }

    /// Takes the value; afterwards the place can be used again.
    func take() -> Value {
        guard let value = value.take() else { preconditionFailure("a parked task ran before it was called") }
        return value
    }
}

/// Holds a task between its call of ``pass()`` and another thread's call of ``open()``.
///
/// It is not generic, because the metadata of a generic actor would be looked up at each step.
private final actor ParkingPlace: SerialExecutor {
    private enum State {
        /// → `parked` when the task arrives, → `open` when the task is released before it arrives.
        case empty
        /// → `empty` when the task leaves.
        case parked(UnownedJob)
        /// → `empty` when the task arrives, and leaves at once.
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
        // Running here means that the task was released. Without access to the actor's state, the compiler might optimise the executor
        // hop away.
        passed &+= 1
    }
}
