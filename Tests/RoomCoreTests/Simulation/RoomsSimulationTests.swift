import Foundation
import RoomCore
import RoomHistory
import Testing

/// Clients and a hub, as they are shipped, in a world where programs die, disks fail and links lie; and then all is well again.
@Suite struct RoomsSimulationTests {
    /// A sanitizer makes everything many times slower.
    private static let isSanitized = ProcessInfo.processInfo.environment["HOLDFAST_SANITIZED"] != nil

    /// `SEED=n` replays one world and tells all of it, `RUNS=n` makes more of them; see `make simulate`.
    @Test func `whatever the world does, what was submitted arrives once and in one order`() async {
        let environment = ProcessInfo.processInfo.environment
        let started = ContinuousClock.now
        var simulation = RoomsSimulation()
        if let seed = environment["SEED"].flatMap(UInt64.init) {
            simulation.run(seed...seed, isTold: true)
        } else {
            simulation = await simulated(runs: environment["RUNS"].flatMap(UInt64.init) ?? (Self.isSanitized ? 50 : 1000))
            #expect(simulation.lacks.isEmpty, "\(simulation.lacks.joined(separator: "\n"))")
            if !simulation.unjudged.isEmpty {
                print("so few worlds need not have had one of these: \(simulation.unjudged.joined(separator: ", "))")
            }
        }
        let rate = Double(simulation.worlds) / ((ContinuousClock.now - started) / .seconds(1))
        print("\(simulation.figures); \(Int(rate)) worlds a second")
        for (seed, verdict) in simulation.failures {
            Issue.record("seed \(seed): \(verdict.violations.prefix(8).joined(separator: "\n"))")
        }
    }

    /// Worlds from 1 on, a share for each processor.
    private func simulated(runs: UInt64) async -> RoomsSimulation {
        let lanes = UInt64(max(ProcessInfo.processInfo.activeProcessorCount, 1))
        return await withTaskGroup(of: RoomsSimulation.self) { group in
            for lane in 1...lanes {
                group.addTask {
                    var simulation = RoomsSimulation()
                    simulation.run(stride(from: lane, through: runs, by: Int(lanes)))
                    return simulation
                }
            }
            return await group.reduce(into: RoomsSimulation()) { $0.add($1) }
        }
    }

    /// The page lets a client trust `high`: two connections of one device are alive, and what the older one has sent is on its way.
    @Test func `a device that is renewed by what the state says doubles nothing`() {
        var races = 0
        for seed in 1...(Self.isSanitized ? 100 : 1000) as ClosedRange<UInt64> {
            let (number, verdict) = RenewalSimulation.live(seed: seed)
            races += number
            #expect(verdict.isClean, "seed \(seed): \(verdict)")
            if !verdict.isClean { break }
        }
        #expect(races > 100)
    }

    @Test func `a device is one user's, however many say that it is theirs, in whatever rooms`() {
        var (refusals, stored) = (0, 0)
        for seed in 1...(Self.isSanitized ? 100 : 1000) as ClosedRange<UInt64> {
            let world = OwnershipSimulation.live(seed: seed)
            (refusals, stored) = (refusals + world.refusals, stored + world.stored)
            #expect(world.faults.isEmpty, "seed \(seed): \(world.faults.prefix(4))")
            if !world.faults.isEmpty { break }
        }
        #expect(refusals > 100 && stored > 100)
    }

    /// The first client, and then the hub, dies between each two things that it does.
    @Test(arguments: [true, false]) func `a program may die at any point of a conversation`(isClient: Bool) {
        var plan = SimPlan()
        (plan.hostile, plan.actionEvery) = (2500, 100)
        (plan.hub.limits.page, plan.hub.limits.roomWindow, plan.hub.tailEntries) = (3, 4, 2)
        var point = 0
        while point < 5000 {
            if isClient { plan.clientDiesAfter = point } else { plan.hubDiesAfter = point }
            let (world, verdict) = RoomsSimulation.live(seed: 1, plan: plan)
            #expect(verdict.isClean, "\(isClient ? "client" : "hub") at \(point): \(verdict)")
            if world.counts[.boundaries] == nil || !verdict.isClean { break }
            point += Self.isSanitized ? 20 : 1
        }
        // So many effects there are in the conversation at least.
        #expect(point > 100)
    }
}
