import HoldfastTesting
import RoomHistory

/// Runs simulated worlds from seeds, one after the other.
struct RoomsSimulation: Sendable {
    /// How often each thing must happen at least in a thousand worlds.
    static let minimums: [SimCount: Int64] = [
        .cuts: 1200, .halfOpen: 300, .slowLinks: 300, .lostFrames: 4000, .clientDeaths: 350, .restores: 60, .doubles: 80, .clientDisk: 400,
        .clientLoads: 100, .clocks: 600, .doubts: 600, .absences: 70, .hubDeaths: 240, .hubStops: 270, .hubDisk: 120, .hubReads: 80,
        .ends: 250, .trims: 200, .rewinds: 40, .unseen: 40, .found: 10, .rights: 200,
        .boundaries: 280, .connections: 6000, .acks: 16_000, .duplicates: 600, .holes: 200, .lags: 150, .snapshots: 2800, .resumes: 4500,
        .pages: 2000, .renewals: 160, .submitted: 17_000, .refused: 1000, .failed: 1500, .retried: 40, .discarded: 700, .forgotten: 200,
        .history: 700,
        .replaced: 40, .congested: 80, .overtaken: 1000, .refusals: 5000, .serverMessages: 1400, .presence: 1400, .typing: 1400,
        .signals: 1400, .reads: 1400,
        .unreadable: 150,
    ]

    private(set) var worlds: Int64 = 0
    private(set) var steps = 0
    private(set) var totals: [SimCount: Int64] = [:]
    /// The failed worlds, by seed.
    private(set) var failures: [(seed: UInt64, verdict: HistoryVerdict)] = []

    /// Runs one world, first with faults and then without.
    static func live(seed: UInt64, plan: SimPlan, isVerbose: Bool = false) -> (world: SimWorld, verdict: HistoryVerdict) {
        let world = SimWorld(seed: seed, plan: plan, isVerbose: isVerbose)
        world.run(until: plan.hostile)
        world.heal()
        return (world, world.judge())
    }

    /// Runs the worlds of some seeds, until five have failed.
    mutating func run(_ seeds: some Sequence<UInt64>, isVerbose: Bool = false) {
        for seed in seeds where failures.count < 5 {
            var random = SeededGenerator(seed: seed)
            let (world, verdict) = Self.live(seed: seed, plan: SimPlan(using: &random), isVerbose: isVerbose)
            worlds += 1
            steps += world.steps
            for (count, number) in world.counts { totals[count, default: 0] += number }
            if !verdict.isClean { failures.append((seed, verdict)) }
        }
    }

    /// Adds the results of another simulation.
    mutating func add(_ other: RoomsSimulation) {
        worlds += other.worlds
        steps += other.steps
        totals.merge(other.totals, uniquingKeysWith: +)
        failures += other.failures
    }

    /// The counts that are too low for the number of worlds.
    var tooFew: [String] {
        if worlds == 0 { return ["no world was run"] }
        return Self.minimums.sorted { $0.key < $1.key }.compactMap { count, least in
            let number = totals[count, default: 0]
            if number >= wanted(least) { return nil }
            return "\(count.rawValue): \(number) in \(worlds) worlds, at least \(wanted(least)) wanted"
        }
    }

    /// The counts that are not checked, because there were too few worlds.
    var unchecked: [String] { Self.minimums.filter { wanted($0.value) == 0 }.keys.sorted().map(\.rawValue) }

    /// The required count.
    ///
    /// With fewer than 300 worlds half is enough, because worlds differ. With fewer than 50 nothing is required.
    private func wanted(_ least: Int64) -> Int64 { worlds < 50 ? 0 : least * worlds / (worlds < 300 ? 2000 : 1000) }

    /// A summary for people.
    var figures: String {
        let counts = totals.sorted { $0.key < $1.key }.map { "\($0.key.rawValue) \($0.value)" }.joined(separator: ", ")
        return "simulated \(worlds) worlds of rooms in \(steps) steps: \(counts)"
    }
}
