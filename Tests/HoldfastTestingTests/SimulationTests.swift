import HoldfastTesting
import MachineCore
import Testing

/// Sends its number each second until it receives the echo.
private struct Caller: Machine {
    enum Effect: Hashable { case call(Int), received(Int) }
    var number: Int
    private(set) var deadline: Moment? = .start

    mutating func handle(_ echo: Int, at now: Moment, into effects: inout [Effect]) {
        effects.append(.received(echo))
        if echo == number { deadline = nil }
    }
    mutating func wake(at now: Moment, into effects: inout [Effect]) {
        guard let due = deadline, now >= due else { return }
        effects.append(.call(number))
        deadline = now + .seconds(1)
    }
}

private struct Echo: Machine {
    var deadline: Moment? { nil }
    mutating func handle(_ number: Int, at now: Moment, into effects: inout [Int]) { effects.append(number) }
    mutating func wake(at now: Moment, into effects: inout [Int]) {}
}

@Suite struct SimulationTests {
    private func world() -> Simulation<Caller, Echo> {
        Simulation(Caller(number: 7), Echo()) {
            if case .call(let number) = $0 { number } else { nil }
        } inward: {
            $0
        }
    }

    @Test func `a message takes the delay in each direction`() {
        var world = world()
        world.delay = .milliseconds(300)
        #expect(world.run(until: Moment(.milliseconds(599))).near == [.call(7)])
        #expect(world.run(until: Moment(.milliseconds(600))).near == [.received(7)])
        #expect(world.step() == nil && world.now == Moment(.milliseconds(600)))
    }

    @Test func `a cut loses the messages in flight`() {
        var world = world()
        _ = world.step()
        world.cut()
        #expect(world.run(until: Moment(.milliseconds(999))).near.isEmpty)
        #expect(world.run(until: Moment(.seconds(2))).near == [.call(7), .received(7)])
    }

    @Test func `a message never overtakes an earlier one`() {
        var world = Simulation(Echo(), Echo()) {
            $0
        } inward: { _ in
            nil
        }
        world.delay = .seconds(5)
        world.send(1)
        world.delay = .seconds(1)
        world.send(2)
        #expect(world.run(until: Moment(.seconds(4))).far.isEmpty)
        #expect(world.run(until: Moment(.seconds(5))).far == [1, 2])
    }

    @Test func `a slow direction does not slow the other one`() {
        var world = Simulation(Echo(), Echo()) {
            $0
        } inward: {
            $0 == 2 ? $0 : nil
        }
        world.delay = .seconds(5)
        world.send(1)
        world.delay = .seconds(1)
        world.sendFar(2)
        #expect(world.run(until: Moment(.seconds(1))).near == [2])
    }

    @Test func `the same seed loses the same messages`() {
        func effects(_ seed: UInt64) -> [Caller.Effect] {
            var random = SeededGenerator(seed: seed)
            var world = world()
            world.isLost = { Int.random(in: 0..<10, using: &random) < 7 }
            return world.run(until: Moment(.seconds(3600))).near
        }
        #expect(effects(5) == effects(5))
        #expect(Set((1...20).map(effects)).count > 1)
        #expect((1...20).allSatisfy { effects($0).contains(.received(7)) })
    }
}
