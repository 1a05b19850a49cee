import DequeModule
import Testing
import WebSocketRuntime

@MainActor @Suite(.timeLimit(.minutes(1))) struct ParkingTests {
    @Test func `an available value is returned at once`() async {
        let place = Parking<Int>()
        place.call(7)
        #expect(await place.wait() == 7)
    }

    @Test func `a waiting task gets the value when it arrives`() async {
        let (place, arrivals) = (Parking<Int>(), Tally())
        let waiting = await started {
            let value = await place.wait()
            arrivals.add()
            return value
        }
        for _ in 1...10 { await Task.yield() }
        #expect(arrivals.count == 0)
        place.call(7)
        #expect(await waiting.value == 7)
        #expect(arrivals.count == 1)
    }

    @Test func `one place serves waits in sequence, whether the value or the task comes first`() async {
        let place = Parking<Int>()
        for number in 1...3 {
            let waiting = await started { await place.wait() }
            place.call(number)
            #expect(await waiting.value == number)
            place.call(-number)
            #expect(await place.wait() == -number)
        }
    }

    @Test func `a task resumes on its own actor, and any thread may deliver the value`() async {
        let place = Parking<Int>()
        let waiting = await started {
            let value = await place.wait()
            MainActor.preconditionIsolated()
            return value
        }
        await Task.detached { place.call(7) }.value
        #expect(await waiting.value == 7)
    }

    @Test func `a task of an actor with a custom executor resumes as a job of that executor`() async {
        let (place, executor) = (Parking<Int>(), HandExecutor())
        let waiter = ExecutorActor(executor)
        let waiting = await started { await waiter.wait(for: place) }
        // The compiler may skip the hop to the actor on the way to `wait`.
        while executor.run() > 0 {}
        place.call(7)
        while executor.run() > 0 {}
        #expect(await waiting.value == 7)
    }

    @Test func `a task of an actor with a custom executor gets an available value on that executor`() async {
        let (place, executor) = (Parking<Int>(), HandExecutor())
        let waiter = ExecutorActor(executor)
        place.call(7)
        let waiting = await started { await waiter.wait(for: place) }
        while executor.run() > 0 {}
        #expect(await waiting.value == 7)
    }

    @Test func `with many concurrent waits each gets its own value`() async {
        let count = 20_000
        let places = (0..<count).map { _ in Parking<Int>() }
        let wrong = await withTaskGroup(of: Int.self) { group in
            for part in 0..<4 {
                group.addTask {
                    var wrong = 0
                    for index in stride(from: part, to: count, by: 4) { if await places[index].wait() != index { wrong += 1 } }
                    return wrong
                }
                // Values and tasks arrive in varying order.
                group.addTask {
                    for index in stride(from: part, to: count, by: 4) { places[index].call(index) }
                    return 0
                }
            }
            var wrong = 0
            for await some in group { wrong += some }
            return wrong
        }
        #expect(wrong == 0)
    }

    @Test func `all parked tasks resume`() async {
        let places = (0..<2000).map { _ in Parking<Int>() }
        var tasks: [Task<Int, Never>] = []
        for place in places { tasks.append(await started { await place.wait() }) }
        let callers = (0..<4).map { part in
            Task.detached { for index in stride(from: part, to: 2000, by: 4) { places[index].call(index) } }
        }
        for caller in callers { await caller.value }
        for (index, task) in tasks.enumerated() { #expect(await task.value == index) }
    }
}

/// Runs jobs only when a test says so.
private final class HandExecutor: SerialExecutor {
    private let jobs = LockedValue<Deque<UnownedJob>>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLockedValue { $0.append(job) }
    }

    /// Runs the waiting jobs.
    ///
    /// Returns their number.
    func run() -> Int {
        let waiting = jobs.withLockedValue { jobs in
            defer { jobs = [] }
            return jobs
        }
        for job in waiting { job.runSynchronously(on: asUnownedSerialExecutor()) }
        return waiting.count
    }
}

/// An actor with its own executor.
private actor ExecutorActor {
    private let executor: HandExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ executor: HandExecutor) { self.executor = executor }

    func wait(for place: Parking<Int>) async -> Int {
        let value = await place.wait()
        preconditionIsolated()
        return value
    }
}
