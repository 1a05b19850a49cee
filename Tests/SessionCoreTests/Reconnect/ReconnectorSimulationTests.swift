import HoldfastTesting
import MachineCore
import SessionCore
import Testing
import WebSocketCore

/// A network in which attempts open or fail, and open connections are lost later with two errors.
private struct FlappingNetwork: Machine {
    enum Event: Hashable { case opened(UInt64), failed(UInt64) }

    var random: SeededGenerator
    var longestLife: Duration
    var pending: [(at: Moment, event: Event)] = []
    /// The times of all attempts.
    var attempts: [Moment] = []
    var live: Set<UInt64> = []
    var mostLive = 0
    var deadline: Moment? { pending.map(\.at).min() }

    mutating func handle(_ generation: UInt64, at now: Moment, into effects: inout [Event]) {
        attempts.append(now)
        live.insert(generation)
        mostLive = max(mostLive, live.count)
        var end = now + .seconds(1)
        if Bool.random(using: &random) {
            pending.append((now + .milliseconds(100), .opened(generation)))
            end = now + longestLife * Double.random(in: 0.5...1, using: &random)
        }
        pending += [(end, .failed(generation)), (end, .failed(generation))]
    }
    mutating func wake(at now: Moment, into effects: inout [Event]) {
        let due = pending.filter { $0.at <= now }.sorted { $0.at < $1.at }
        pending.removeAll { $0.at <= now }
        for (_, event) in due {
            if case .failed(let generation) = event { live.remove(generation) }
            effects.append(event)
        }
    }
}

@Suite struct ReconnectorSimulationTests {
    private func world(seed: UInt64, longestLife: Duration) -> Simulation<Reconnector, FlappingNetwork> {
        let network = FlappingNetwork(random: SeededGenerator(seed: seed), longestLife: longestLife)
        var world = Simulation(Reconnector(policy: ReconnectPolicy(backoff: Backoff(jitter: .equal)), seed: seed), network) {
            if case .connect(let attempt) = $0 { attempt.generation } else { nil }
        } inward: {
            switch $0 {
            case .opened(let generation): .opened(generation: generation)
            case .failed(let generation): .lost(generation: generation, Loss(.lost))
            }
        }
        world.delay = .milliseconds(1)
        return world
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `on a link that flaps for half an hour attempts become rarer and never overlap`(seed: UInt64) {
        var world = world(seed: seed, longestLife: .seconds(9))
        world.send(.start)
        let effects = world.run(until: Moment(.seconds(1800)))
        let attempts = effects.near.compactMap { if case .connect(let attempt) = $0 { attempt.number } else { nil } }
        #expect(attempts == Array(2...attempts.count + 1), "no connection was stable, so the count never restarts")
        #expect(attempts.count < 140, "at least 15 s between attempts after the cap is reached")
        #expect(world.far.mostLive == 1)
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `the count restarts only after a stable connection`(seed: UInt64) {
        var world = world(seed: seed, longestLife: .seconds(20))
        var (openedAt, attempt) = (Moment?.none, 1)
        world.send(.start)
        while world.now < Moment(.seconds(1800)), let effects = world.step() {
            for effect in effects.near {
                switch effect {
                case .report(.connected): openedAt = world.now
                case .report(.waiting(_, let next)):
                    let wasStable = openedAt.map { world.now - $0 >= .seconds(10) } ?? false
                    #expect(next == (wasStable ? 1 : attempt + 1))
                    (openedAt, attempt) = (nil, next)
                default: break
                }
            }
        }
        #expect(world.far.mostLive == 1)
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `nothing happens after stop`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var world = world(seed: seed, longestLife: .seconds(20))
        world.send(.start)
        _ = world.run(until: Moment(.milliseconds(Int64.random(in: 0...100_000, using: &random))))
        let last = world.send(.stop)
        #expect(last.last == .report(.stopped(.asked)))
        #expect(world.run(until: Moment(.seconds(1800))).near.isEmpty)
    }
}
