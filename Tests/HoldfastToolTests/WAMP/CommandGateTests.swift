import Testing

@testable import HoldfastTool

/// How many commands run at once.
@Suite(.timeLimit(.minutes(1))) struct CommandGateTests {
    /// Something that runs until it is told to end.
    private struct Run: Sendable {
        let ends: AsyncStream<Void>
        let end: AsyncStream<Void>.Continuation

        init() { (ends, end) = AsyncStream.makeStream() }
    }

    @Test func `so many run at once, and others follow in their order`() async throws {
        let (waited, waits) = AsyncStream.makeStream(of: Void.self)
        let gate = CommandGate(most: 2) { waits.yield() }
        let (started, starting) = AsyncStream.makeStream(of: Int.self)
        let runs = (0..<5).map { _ in Run() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            var (starts, waitings) = (started.makeAsyncIterator(), waited.makeAsyncIterator())
            for number in 0..<5 {
                group.addTask {
                    try await gate.run {
                        starting.yield(number)
                        for await _ in runs[number].ends {}
                    }
                }
                // One after another, so that their order is known.
                if number < 2 { #expect(await starts.next() == number) } else { await waitings.next() }
            }
            #expect(gate.load == (2, 3))
            runs[1].end.finish()
            #expect(await starts.next() == 2)
            #expect(gate.load == (2, 2))
            for run in runs { run.end.finish() }
            #expect(await Set([starts.next(), starts.next()]) == [3, 4])
            try await group.waitForAll()
        }
        #expect(gate.load == (0, 0))
    }

    @Test func `who is cancelled while it waits, or before, gives its place up`() async throws {
        let (waited, waits) = AsyncStream.makeStream(of: Void.self)
        let (started, starting) = AsyncStream.makeStream(of: Void.self)
        let gate = CommandGate(most: 1) { waits.yield() }
        let first = Run()
        let one = Task {
            try await gate.run {
                starting.yield()
                for await _ in first.ends {}
            }
        }
        for await _ in started { break }
        let other = Task { try await gate.run {} }
        for await _ in waited { break }
        other.cancel()
        await #expect(throws: CancellationError.self) { try await other.value }
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await gate.run {}
        }
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(gate.load == (1, 0))
        first.end.finish()
        try await one.value
        #expect(gate.load == (0, 0))
    }
}
