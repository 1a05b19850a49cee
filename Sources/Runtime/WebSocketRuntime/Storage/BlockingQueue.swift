#if canImport(Darwin)
    import Dispatch
#else
    @preconcurrency import Dispatch
#endif

/// The executor of an actor that blocks for the disk: a queue of its own, so that no other work waits.
package final class BlockingQueue: SerialExecutor {
    private let queue: DispatchQueue

    /// Creates a queue with a name for debuggers.
    package init(_ name: String) { queue = DispatchQueue(label: name) }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    /// Runs a closure on the queue, and waits for it and for all earlier jobs; must not be called on the queue.
    package func sync(_ body: () -> Void) { queue.sync(execute: body) }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}
