import HoldfastTesting
import MachineCore
import SessionCore
import Testing
import WebSocketRuntime

@Suite(.timeLimit(.minutes(1))) struct DriverTests {
    static let loss = Loss(.lost)

    @Test func `the driver wakes the machine at its deadline`() async {
        let clock = ManualClock()
        let (effects, sink) = AsyncStream.makeStream(of: Reconnector.Effect.self)
        let driver = Driver(Reconnector(seed: 3), clock: clock) { effect, _ in sink.yield(effect) }
        var seen = effects.makeAsyncIterator()

        await driver.handle(.start)
        #expect(await seen.next() == .connect(Reconnector.Attempt(number: 1, generation: 1)))
        #expect(await seen.next() == .report(.connecting(Reconnector.Attempt(number: 1, generation: 1))))
        await driver.handle(.lost(generation: 1, Self.loss))
        _ = await seen.next()
        clock.advance(by: await clock.nextSleep())
        #expect(await seen.next() == .connect(Reconnector.Attempt(number: 2, generation: 2)))
    }

    @Test func `an earlier deadline replaces the alarm, and a later one does not`() async {
        let clock = ManualClock()
        let (effects, sink) = AsyncStream.makeStream(of: Duration.self)
        let driver = Driver(Timer(), clock: clock) { effect, _ in sink.yield(effect) }
        var seen = effects.makeAsyncIterator()

        await driver.handle(.seconds(10))
        #expect(await clock.nextSleep() == .seconds(10))
        await driver.handle(.seconds(4))
        #expect(await clock.nextSleep() == .seconds(4))
        await driver.handle(.seconds(6))
        clock.advance(by: .seconds(4))
        #expect(await clock.nextSleep() == .seconds(2), "the alarm was early and was set again")
        clock.advance(by: .seconds(2))
        #expect(await seen.next() == .seconds(6))
    }

    @Test func `each effect gets its moment, counted from the start of the driver`() async {
        let clock = ManualClock()
        clock.advance(by: .seconds(100))
        let (moments, sink) = AsyncStream.makeStream(of: Moment.self)
        let driver = Driver(Timer(), clock: clock) { sink.yield($1) }
        await driver.handle(.seconds(3))
        clock.advance(by: await clock.nextSleep())
        var seen = moments.makeAsyncIterator()
        #expect(await seen.next() == Moment(.seconds(3)))
        _ = driver
    }

    @Test func `a released driver does not sleep any more`() async throws {
        let clock = ManualClock()
        let (effects, sink) = AsyncStream.makeStream(of: Duration.self)
        var driver: Driver<Timer, ManualClock>? = Driver(Timer(), clock: clock) { effect, _ in sink.yield(effect) }
        await driver?.handle(.seconds(10))
        await clock.nextSleep()
        weak let trace = driver
        driver = nil
        #expect(trace == nil)
        clock.advance(by: .seconds(10))
        sink.finish()
        for await effect in effects { Issue.record("\(effect) after the end") }
    }

    @Test func `concurrent inputs are applied one at a time`() async {
        let clock = ManualClock()
        let (effects, sink) = AsyncStream.makeStream(of: Int.self)
        let driver = Driver(Counter(), clock: clock) { effect, _ in sink.yield(effect) }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<1000 { group.addTask { await driver.handle(()) } }
        }
        sink.finish()
        var seen: [Int] = []
        for await effect in effects { seen.append(effect) }
        #expect(seen == (1...1000).flatMap { [$0, -$0] })
    }
}

/// Wakes at the last given time and reports the time.
private struct Timer: Machine {
    private(set) var deadline: Moment?
    mutating func handle(_ offset: Duration, at now: Moment, into effects: inout [Duration]) { deadline = Moment(offset) }
    mutating func wake(at now: Moment, into effects: inout [Duration]) {
        guard let due = deadline, now >= due else { return }
        effects.append(now.offset)
        deadline = nil
    }
}

private struct Counter: Machine {
    var count = 0
    var deadline: Moment? { nil }
    mutating func handle(_ input: Void, at now: Moment, into effects: inout [Int]) {
        count += 1
        effects += [count, -count]
    }
    mutating func wake(at now: Moment, into effects: inout [Int]) {}
}
