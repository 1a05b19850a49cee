import NIOConcurrencyHelpers

/// Where one task waits for one value, and then goes on at once where it came from.
///
/// A continuation would do, but the runtime resumes every continuation on the global pool, and only from there sends the task
/// back to its actor: two changes of threads for each message, however near the two sides are. Here the task is held as a
/// job of this actor's own executor instead, and leaves from the thread that calls it.
package final actor Parking<Value: Sendable>: SerialExecutor {
    private enum State {
        /// → `parked` when the task comes, → `called` when the value does.
        case empty
        /// → `called` when the value comes.
        case parked(UnownedJob)
        /// The value is here, and the task may go.
        case called(Value)
    }
    private nonisolated let state = NIOLockedValueBox(State.empty)

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
        let job: UnownedJob? = state.withLockedValue { state in
            defer { state = .called(value) }
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
        return state.withLockedValue { state in
            guard case .called(let value) = state else { preconditionFailure("a parked task ran before it was called") }
            return value
        }
    }
}
