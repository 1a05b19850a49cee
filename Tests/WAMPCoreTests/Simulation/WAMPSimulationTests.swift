import Foundation
import HoldfastTesting
import Testing
import WAMPCore

/// Simulations of clients and a router, in which links and routers fail and recover.
@Suite struct WAMPSimulationTests {
    /// The minimum of each count per hundred simulations.
    private static let minimums: [SimCount: Int64] = [
        .results: 1500, .parts: 600, .inputParts: 30, .callsFailed: 2500, .cancelled: 400, .published: 5000, .publicationsFailed: 1000,
        .events: 12_000, .retained: 250, .listeners: 1300, .procedures: 1300, .invocations: 2200, .interrupts: 250, .gaps: 500, .filled: 30,
        .suspensions: 300, .joins: 400, .challenges: 250, .cuts: 30, .halfOpen: 30, .slowLinks: 30, .routerDeaths: 25, .routerStops: 25,
        .kills: 20, .revocations: 25, .reconnects: 40, .lostAfterSent: 500, .timedOut: 900,
    ]

    /// `SEED=n` replays one simulation and prints each step, `RUNS=n` sets the number of them; see `make simulate`.
    @Test func `each request ends once despite faults, and subscriptions and registrations are restored`() {
        let environment = ProcessInfo.processInfo.environment
        let isSanitized = environment["HOLDFAST_SANITIZED"] != nil
        let seeds: ClosedRange<UInt64>
        let replay = environment["SEED"].flatMap(UInt64.init)
        if let replay { seeds = replay...replay } else { seeds = 1...(environment["RUNS"].flatMap(UInt64.init) ?? (isSanitized ? 10 : 50)) }
        var (totals, steps, failures): ([SimCount: Int64], Int, Int) = ([:], 0, 0)
        for seed in seeds where failures < 5 {
            var random = SeededGenerator(seed: seed)
            let world = SimWorld(seed: seed, plan: SimPlan(using: &random), isVerbose: replay != nil)
            world.run(until: world.plan.faultDuration)
            if world.violations.isEmpty { world.recover() }
            steps += world.steps
            for (what, number) in world.counts { totals[what, default: 0] += number }
            if !world.violations.isEmpty {
                failures += 1
                Issue.record("seed \(seed): \(world.violations.prefix(4).joined(separator: "\n"))")
            }
        }
        let figures = SimCount.allCases.map { "\($0.rawValue) \(totals[$0, default: 0])" }.joined(separator: ", ")
        print("simulated \(seeds.count) worlds of WAMP in \(steps) steps: \(figures)")
        for (what, least) in Self.minimums.sorted(by: { $0.key < $1.key }) where seeds.count >= 50 {
            #expect(totals[what, default: 0] >= least * Int64(seeds.count) / 100, "\(what) happened \(totals[what, default: 0]) times")
        }
    }
}
