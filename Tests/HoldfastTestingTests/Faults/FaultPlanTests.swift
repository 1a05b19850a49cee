import HoldfastTesting
import Testing

@Suite struct FaultPlanTests {
    /// The first faults of a plan, each as `time fault`.
    private func plan(_ script: String, seed: UInt64 = 1, _ count: Int = 50) throws -> [String] {
        FaultPlan(try FaultScript(script), seed: seed).prefix(count).map { "\($0.time / .seconds(1)) \($0)" }
    }

    @Test func `each step starts at its time, and a fault with a duration ends`() throws {
        let script = "at 20s stall 8s; after 2s refuse 3s; at 40s throttle 16KiB/s for 10s; delay 20ms..80ms"
        #expect(
            try plan(script) == [
                "0.0 delay 20ms..80ms", "20.0 stall", "28.0 end of stall", "30.0 refuse", "33.0 end of refuse", "40.0 throttle 16KiB/s",
                "50.0 end of throttle 16KiB/s",
            ])
    }

    @Test func `a recurring step starts one interval later or at its given time, and no step waits for it`() throws {
        #expect(try plan("every 3s cut; after 7s heal", 4) == ["3.0 cut", "6.0 cut", "7.0 heal", "9.0 cut"])
        #expect(try plan("at 1s every 3s cut", 3) == ["1.0 cut", "4.0 cut", "7.0 cut"])
        #expect(try plan("at 1s cut; after 1s every 3s cut rst", 3) == ["1.0 cut", "2.0 cut rst", "5.0 cut rst"])
    }

    @Test func `the end of a fault restores an older fault of the same kind and precedes faults that start at that time`() throws {
        #expect(
            try plan("delay 20ms; at 10s delay 2s for 5s; at 15s stall 1s") == [
                "0.0 delay 20ms", "10.0 delay 2s", "15.0 end of delay 2s", "15.0 delay 20ms", "15.0 stall", "16.0 end of stall",
            ])
    }

    @Test func `a fault that starts again while it is active lasts longer`() throws {
        #expect(try plan("at 1s every 2s stall 3s", 3) == ["1.0 stall", "3.0 stall", "5.0 stall"])
    }

    @Test func `heal ends all faults, and no fault ends twice`() throws {
        #expect(
            try plan("stall 9s; refuse; at 5s heal; at 7s close 1s") == [
                "0.0 stall", "0.0 refuse", "5.0 heal", "7.0 close", "8.0 end of close",
            ])
    }

    @Test func `a seed determines the values within their ranges, the same way every time`() throws {
        let script = "every 5s..9s cut; every 10s..20s stall 1s..2s; at 1s..100s refuse"
        let faults = Array(FaultPlan(try FaultScript(script), seed: 7).prefix(1000))
        #expect(faults == Array(FaultPlan(try FaultScript(script), seed: 7).prefix(1000)))
        #expect(faults != Array(FaultPlan(try FaultScript(script), seed: 8).prefix(1000)))
        let cuts = faults.filter { $0.fault == .cut(.fin) }.map(\.time)
        let intervals = zip([.zero] + cuts, cuts).map { $1 - $0 }
        #expect(intervals.allSatisfy { .seconds(5) ... .seconds(9) ~= $0 })
        #expect(Set(intervals).count > 100)
        let stalls = faults.filter { $0.fault == .stall }
        #expect(zip(stalls, stalls.dropFirst()).allSatisfy { $0.isEnd || .seconds(1) ... .seconds(2) ~= $1.time - $0.time && $1.isEnd })
    }

    /// If this list changes, seeds that somebody noted no longer reproduce their plans.
    @Test func `the plan of a seed never changes`() throws {
        let times = FaultPlan(try FaultScript("every 5s..9s cut"), seed: 42).prefix(3).map { Int($0.time / .milliseconds(1)) }
        #expect(times == [7966, 13_605, 19_720])
    }

    @Test func `an additional step does not change the times of the steps before it`() throws {
        let few = try plan("every 5s..9s cut", 20)
        #expect(try plan("every 5s..9s cut; every 1s..2s stall", 500).filter { $0.hasSuffix("cut") }.prefix(20) == few[...])
    }

    @Test func `a plan handles steps with negative and huge durations`() {
        let steps = [
            FaultStep(.cut(.fin), every: .seconds(-5) ... .zero),
            FaultStep(.stall, start: .after(.seconds(-1) ... .seconds(Int64.max)), for: .seconds(-2) ... .seconds(-1)),
        ]
        let plan = FaultPlan(FaultScript(steps), seed: 1).prefix(10).map(\.time)
        #expect(plan == plan.sorted() && plan.first == .milliseconds(1))
    }
}
