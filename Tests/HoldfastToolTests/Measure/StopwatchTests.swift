import Testing

@testable import HoldfastTool

@Suite struct StopwatchTests {
    /// A clock that only the work under test moves, and what was done in which order.
    private final class StopwatchWorld {
        var time = Duration.zero
        var done: [String] = []

        func work(_ name: String, _ durations: [Duration]) -> () -> Void {
            var runs = 0
            return {
                self.time += durations[min(runs, durations.count - 1)]
                self.done.append(name)
                runs += 1
            }
        }
    }

    @Test func `the time of a piece is the median of the rounds`() {
        let world = StopwatchWorld()
        var stopwatch = Stopwatch { world.time }
        stopwatch.atLeast = .milliseconds(1)
        // The first run finds out how often it must be done.
        let work = world.work(
            "a", [.seconds(9), .milliseconds(5), .milliseconds(1), .milliseconds(70), .milliseconds(3), .milliseconds(2)])
        #expect(stopwatch.times(of: [work]) == [.milliseconds(3)])
    }

    @Test func `pieces are timed in turn`() {
        let world = StopwatchWorld()
        var stopwatch = Stopwatch { world.time }
        (stopwatch.rounds, stopwatch.atLeast) = (2, .milliseconds(1))
        let times = stopwatch.times(of: [world.work("a", [.milliseconds(1)]), world.work("b", [.milliseconds(2)])])
        #expect(times == [.milliseconds(1), .milliseconds(2)])
        #expect(world.done == ["a", "b", "a", "b", "a", "b"])
    }

    @Test func `a short piece is done over and over until the clock can tell`() {
        let world = StopwatchWorld()
        var stopwatch = Stopwatch { world.time }
        (stopwatch.rounds, stopwatch.atLeast) = (1, .milliseconds(3))
        #expect(stopwatch.times(of: [world.work("a", [.milliseconds(1)])]) == [.milliseconds(1)])
        #expect(world.done.count == 1 + 2 + 4 + 4)
    }

    @Test func `a piece that takes too long is not timed again`() {
        let world = StopwatchWorld()
        let times = Stopwatch { world.time }.times(of: [world.work("a", [.seconds(3)]), world.work("b", [.milliseconds(20)])])
        #expect(times == [.seconds(3), .milliseconds(20)])
        #expect(world.done.filter { $0 == "a" }.count == 2)
        #expect(world.done.filter { $0 == "b" }.count == 6)
    }
}
