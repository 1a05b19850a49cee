import Foundation
import HoldfastTesting
import MachineCore
import SessionCore
import Testing

/// Hours of a session with random failures, from a seed.
@Suite struct SessionSimulationTests {
    /// The time with failures.
    ///
    /// After it the session must connect within its longest wait.
    private static let failuresUntil = Moment(.seconds(4 * 3600))

    private func policy(_ random: inout SeededGenerator) -> SessionPolicy {
        var policy = SessionPolicy()
        policy.path.handsOver = Bool.random(using: &random)
        policy.path.holdsWhenUnsatisfied = Bool.random(using: &random)
        policy.background = Bool.random(using: &random) ? .keep : .close(after: .seconds(3))
        // So that two 401 in a row do not end the run.
        policy.reconnect.losses[.refused(status: 401)] = Bool.random(using: &random) ? .retry : .refreshCredentials
        policy.heartbeat = Bool.random(using: &random) ? .fixed : .adaptive()
        let waiting: [SendPolicy.WhileDisconnected] = [.wait(.seconds(Int.random(in: 0...100, using: &random))), .queue, .fail]
        let overflow: [SendPolicy.Overflow] = [.dropOldest, .dropNewest, .refuse]
        policy.sending = SendPolicy(
            whileDisconnected: waiting[Int.random(in: 0...2, using: &random)],
            capacity: SendVolume(count: Int.random(in: 1...40, using: &random), bytes: 3000),
            overflow: overflow[Int.random(in: 0...2, using: &random)])
        return policy
    }

    /// `SEED=n` replays one run and prints it.
    ///
    /// `RUNS=n` sets the number of runs. See `make simulate`.
    @Test func `in random worlds a session keeps its invariants`() {
        let environment = ProcessInfo.processInfo.environment
        let only = environment["SEED"].flatMap(UInt64.init)
        let seeds = only.map { [$0] } ?? Array(1...(environment["RUNS"].flatMap(UInt64.init) ?? 200))
        let started = ContinuousClock.now
        for seed in seeds { run(seed: seed, isVerbose: only != nil) }
        let rate = Double(seeds.count) / ((ContinuousClock.now - started) / .seconds(1))
        print("simulated \(seeds.count) sessions of four hours and more, \(Int(rate)) a second")
    }

    private func run(seed: UInt64, isVerbose: Bool) {
        var random = SeededGenerator(seed: seed)
        let policy = policy(&random)
        let session = Session(policy: policy, endpoints: Int.random(in: 1...3, using: &random), hasCredentials: true, seed: seed)
        var world = Simulation(session, World(seed: seed, failuresUntil: Self.failuresUntil), outward: { $0 }, inward: { $0 })
        world.delay = .milliseconds(1)
        var check = SessionCheck(policy: policy, seed: seed, isVerbose: isVerbose)
        check.note(world.send(.start), of: world.near, at: world.now)
        while world.now < Self.failuresUntil, let effects = world.step() { check.note(effects, of: world.near, at: world.now) }

        // No failures from here: the session connects within its longest wait, unless it has ended.
        let bound = policy.reconnect.longestWait + .seconds(60)
        while world.now < Self.failuresUntil + .seconds(180) + bound, let effects = world.step() {
            check.note(effects, of: world.near, at: world.now)
        }
        switch world.near.phase {
        case .connected, .handingOver: break
        case .stopped(.refused(let loss)): #expect(policy.reconnect.losses[loss.cause] == .refreshCredentials, "seed \(seed): \(loss)")
        case let phase: Issue.record("seed \(seed): \(phase) although the server answers")
        }
        #expect(world.far.mostOpen <= 2, "seed \(seed)")

        check.note(world.send(.close), of: world.near, at: world.now)
        while let effects = world.step(), world.now < Self.failuresUntil + .seconds(7200) {
            check.note(effects, of: world.near, at: world.now)
        }
        #expect(check.isOver, "seed \(seed): a closed session has not ended")
        check.sends.settle(world.far.mail, seed: seed)
    }
}

/// The invariants of every session.
private struct SessionCheck {
    let policy: SessionPolicy
    let seed: UInt64
    let isVerbose: Bool
    var newest: UInt64 = 0
    var isOver = false
    var fetches: Set<UInt64> = []
    /// The start of the last attempt, including its wait for credentials.
    var last: Moment?
    var sends = SendCheck()

    mutating func note(_ effects: Simulation<Session, World>.Effects, of session: Session, at now: Moment) {
        for input in effects.far {
            if isVerbose { print("\(now.offset)  ← \(input)") }
            sends.note(input)
        }
        note(effects.near, of: session, at: now)
    }

    mutating func note(_ effects: [Session.Effect], of session: Session, at now: Moment) {
        for effect in effects {
            if isVerbose { print("\(now.offset)  → \(effect)") }
            sends.note(effect, isOver: isOver)
            if case .refused = effect { continue }
            #expect(!isOver, "seed \(seed): \(effect) after the end, at \(now.offset)")
            switch effect {
            case .connect(let attempt):
                #expect(attempt.generation > newest, "seed \(seed): a generation twice")
                newest = attempt.generation
            case .report(.waiting(let until, _)):
                #expect(until - now <= policy.reconnect.longestWait, "seed \(seed): a wait of \(until - now)")
            case .report(.connecting):
                if let last { #expect(now - last >= policy.reconnect.spacing, "seed \(seed): two attempts within \(now - last)") }
                last = now
            case .report(.stopped): isOver = true
            case .fetchCredential(let number): #expect(fetches.insert(number).inserted, "seed \(seed): a fetch twice")
            case .disconnect, .retire, .probe, .setPingInterval, .cancelFetch, .abandon, .report, .transmit, .recall, .refused, .backlog:
                break
            }
        }
        sends.note(session.backlog, policy.sending)
    }
}
