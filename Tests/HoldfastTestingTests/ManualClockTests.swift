import HoldfastTesting
import Testing

@Suite struct ManualClockTests {
    @Test(.timeLimit(.minutes(1)))
    func `a sleeper wakes when the clock reaches its deadline, not before`() async throws {
        let clock = ManualClock()
        let sleeper = Task {
            try await clock.sleep(for: .seconds(10))
            return clock.now
        }
        #expect(await clock.nextSleep() == .seconds(10))
        clock.advance(by: .seconds(9))
        let other = Task { try await clock.sleep(for: .seconds(5)) }
        #expect(await clock.nextSleep() == .seconds(5))
        clock.advance(by: .seconds(1))
        #expect(try await sleeper.value.offset == .seconds(10))
        clock.advance(by: .seconds(4))
        try await other.value
    }

    @Test(.timeLimit(.minutes(1)))
    func `a sleep until a past deadline returns at once`() async throws {
        let clock = ManualClock()
        clock.advance(by: .seconds(3))
        try await clock.sleep(for: .zero)
        try await clock.sleep(until: clock.now.advanced(by: .seconds(-1)))
        let sleeper = Task { try await clock.sleep(for: .seconds(2)) }
        #expect(await clock.nextSleep() == .seconds(2), "the others did not sleep")
        sleeper.cancel()
    }

    @Test(.timeLimit(.minutes(1)))
    func `a cancelled sleep throws at once`() async {
        let clock = ManualClock()
        let sleeper = Task { try await clock.sleep(for: .seconds(10)) }
        await clock.nextSleep()
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a thousand sleepers wake without real waiting`() async throws {
        let clock = ManualClock()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for second in 1...1000 { group.addTask { try await clock.sleep(for: .seconds(second)) } }
            for _ in 1...1000 { await clock.nextSleep() }
            clock.advance(by: .seconds(1000))
            try await group.waitForAll()
        }
    }
}
