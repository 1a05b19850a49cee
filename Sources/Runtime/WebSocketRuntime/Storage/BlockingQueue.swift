#if canImport(Darwin)
    import Dispatch
#else
    @preconcurrency import Dispatch
#endif

/// Where an actor runs that waits for a disk: a thread of its own while it does, so that nothing else waits.
package final class BlockingQueue: SerialExecutor {
    private let queue: DispatchQueue

    /// A queue with a name for debuggers.
    package init(_ name: String) { queue = DispatchQueue(label: name) }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    /// Does something there, and waits for it and for what was to come before; not to be called there.
    package func sync(_ body: () -> Void) { queue.sync(execute: body) }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}
