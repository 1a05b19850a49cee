import DequeModule
import Testing
import WebSocketRuntime

@MainActor @Suite(.timeLimit(.minutes(1))) struct ParkingTests {
    @Test func `a value that is there already is not waited for`() async {
        let place = Parking<Int>()
        place.call(7)
        #expect(await place.wait() == 7)
    }

    @Test func `a task that waits gets the value, and not before`() async {
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

    @Test func `a place serves one wait after the other, whoever comes first`() async {
        let place = Parking<Int>()
        for number in 1...3 {
            let waiting = await started { await place.wait() }
            place.call(number)
            #expect(await waiting.value == number)
            place.call(-number)
            #expect(await place.wait() == -number)
        }
    }

    @Test func `a task goes on on its own actor, whichever thread calls it`() async {
        let place = Parking<Int>()
        let waiting = await started {
            let value = await place.wait()
            MainActor.preconditionIsolated()
            return value
        }
        await Task.detached { place.call(7) }.value
        #expect(await waiting.value == 7)
    }

    @Test func `a task of an actor with an executor of its own goes on as a job of that executor`() async {
        let (place, executor) = (Parking<Int>(), HandExecutor())
        let resident = Resident(executor)
        let waiting = await started { await resident.wait(for: place) }
        // The compiler may spare it the visit to its actor on the way to the parking place.
        while executor.run() > 0 {}
        place.call(7)
        while executor.run() > 0 {}
        #expect(await waiting.value == 7)
    }

    @Test func `a task of an actor with an executor of its own finds a value that is there, and stays there`() async {
        let (place, executor) = (Parking<Int>(), HandExecutor())
        let resident = Resident(executor)
        place.call(7)
        let waiting = await started { await resident.wait(for: place) }
        while executor.run() > 0 {}
        #expect(await waiting.value == 7)
    }

    @Test func `of many at once each gets its own value`() async {
        let count = 20_000
        let places = (0..<count).map { _ in Parking<Int>() }
        let wrong = await withTaskGroup(of: Int.self) { group in
            for part in 0..<4 {
                group.addTask {
                    var wrong = 0
                    for index in stride(from: part, to: count, by: 4) { if await places[index].wait() != index { wrong += 1 } }
                    return wrong
                }
                // Now one side is ahead, now the other.
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

    @Test func `many who are parked at once all go on`() async {
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

/// Runs jobs when a test says so, and only then.
private final class HandExecutor: SerialExecutor {
    private let jobs = LockedValue<Deque<UnownedJob>>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLockedValue { $0.append(job) }
    }

    /// Runs the jobs that wait; returns how many they were.
    func run() -> Int {
        let waiting = jobs.withLockedValue { jobs in
            defer { jobs = [] }
            return jobs
        }
        for job in waiting { job.runSynchronously(on: asUnownedSerialExecutor()) }
        return waiting.count
    }
}

/// Lives on an executor of its own.
private actor Resident {
    private let executor: HandExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ executor: HandExecutor) { self.executor = executor }

    func wait(for place: Parking<Int>) async -> Int {
        let value = await place.wait()
        preconditionIsolated()
        return value
    }
}
