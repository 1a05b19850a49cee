import Foundation
import RoomCore
import RoomHistory
import Testing

/// The real client and hub machines in a world of crashes, failing disks and faulty links, which heals at the end.
@Suite struct RoomsSimulationTests {
    /// A sanitizer makes everything many times slower.
    private static let isSanitized = ProcessInfo.processInfo.environment["HOLDFAST_SANITIZED"] != nil

    /// `SEED=n` replays one world and prints each step.
    ///
    /// `RUNS=n` runs more worlds. See `make simulate`.
    @Test func `with any faults, each submitted message is stored once and all clients have the same order`() async {
        let environment = ProcessInfo.processInfo.environment
        let started = ContinuousClock.now
        var simulation = RoomsSimulation()
        if let seed = environment["SEED"].flatMap(UInt64.init) {
            simulation.run(seed...seed, isVerbose: true)
        } else {
            simulation = await simulated(runs: environment["RUNS"].flatMap(UInt64.init) ?? (Self.isSanitized ? 50 : 1000))
            #expect(simulation.tooFew.isEmpty, "\(simulation.tooFew.joined(separator: "\n"))")
            if !simulation.unchecked.isEmpty {
                print("too few worlds to require these: \(simulation.unchecked.joined(separator: ", "))")
            }
        }
        let rate = Double(simulation.worlds) / ((ContinuousClock.now - started) / .seconds(1))
        print("\(simulation.figures); \(Int(rate)) worlds a second")
        for (seed, verdict) in simulation.failures {
            Issue.record("seed \(seed): \(verdict.violations.prefix(8).joined(separator: "\n"))")
        }
    }

    /// Runs the worlds from 1 on, divided among the processors.
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

    /// The protocol page lets a client trust `high`.
    ///
    /// Two connections of one device are open, and frames of the older one are in flight.
    @Test func `a device that is renewed by the state's high mark stores no message twice`() {
        var races = 0
        for seed in 1...(Self.isSanitized ? 100 : 1000) as ClosedRange<UInt64> {
            let (number, verdict) = RenewalSimulation.live(seed: seed)
            races += number
            #expect(verdict.isClean, "seed \(seed): \(verdict)")
            if !verdict.isClean { break }
        }
        #expect(races > 100)
    }

    @Test func `a device belongs to one user, however many claim it in however many rooms`() {
        var (refusals, stored) = (0, 0)
        for seed in 1...(Self.isSanitized ? 100 : 1000) as ClosedRange<UInt64> {
            let world = OwnershipSimulation.live(seed: seed)
            (refusals, stored) = (refusals + world.refusals, stored + world.stored)
            #expect(world.faults.isEmpty, "seed \(seed): \(world.faults.prefix(4))")
            if !world.faults.isEmpty { break }
        }
        #expect(refusals > 100 && stored > 100)
    }

    /// The first client, and then the hub, is killed after each effect in turn.
    @Test(arguments: [true, false]) func `a program may be killed at any point of a conversation`(isClient: Bool) {
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
        // The least number of effects in the conversation.
        #expect(point > 100)
    }
}
