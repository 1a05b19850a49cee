import NIOConcurrencyHelpers

/// Where one task waits for one value, and then goes on at once where it came from.
///
/// A continuation would do, but the runtime resumes every continuation on the global pool, and only from there sends the task
/// back to its actor: two changes of threads for each message, however near the two sides are. Here the task is held as a
/// job of this actor's own executor instead, and leaves from the thread that calls it.
package final actor Parking<Value: Sendable>: SerialExecutor {
    private nonisolated let state = NIOLockedValueBox(ParkingState.empty)
    /// Not a part of the state, whose type would then depend on it, and would be looked up at each step.
    ///
    /// SAFETY: written before the state becomes `called`, read after it.
    private nonisolated(unsafe) var value: Value?

    private var isDone = false

    package init() {}

    package nonisolated var unownedExecutor: UnownedSerialExecutor { asUnownedSerialExecutor() }

    /// Holds the task that calls ``wait()`` until the value is here.
    package nonisolated func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isCalled = state.withLockedValue { state in
            if case .called = state { return true }
            state = .parked(job)
            return false
        }
        if isCalled { job.runSynchronously(on: unownedExecutor) }
    }

    /// Hands over the value; to be called once.
    ///
    /// All that the task does on this thread is to go where it came from.
    package nonisolated func call(_ value: Value) {
        self.value = value
        let job: UnownedJob? = state.withLockedValue { state in
            defer { state = .called }
            if case .parked(let job) = state { return job }
            return nil
        }
        job?.runSynchronously(on: unownedExecutor)
    }

    /// Waits for the value; one task may, once.
    @inline(never)
    package func wait() -> Value {
        // To get here is to be called; without state of the actor's own to touch, the compiler might leave out the way.
        isDone = true
        let isCalled = state.withLockedValue { if case .called = $0 { true } else { false } }
        guard isCalled, let value else { preconditionFailure("a parked task ran before it was called") }
        return value
    }
}

private enum ParkingState {
    /// → `parked` when the task comes, → `called` when the value does.
    case empty
    /// → `called` when the value comes.
    case parked(UnownedJob)
    /// The value is here, and the task may go.
    case called
}
