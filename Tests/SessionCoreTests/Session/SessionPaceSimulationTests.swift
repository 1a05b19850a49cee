import HoldfastTesting
import MachineCore
import SessionCore
import Testing
import WebSocketCore

/// Days of a session on networks that drop idle connections, with a real heartbeat on each connection.
@Suite struct SessionPaceSimulationTests {
    private func run(_ world: PaceWorld, seed: UInt64, until end: Moment) -> Simulation<Session, PaceWorld> {
        var policy = SessionPolicy()
        policy.heartbeat = .adaptive()
        var run = Simulation(Session(policy: policy, seed: seed), world, outward: { $0 }, inward: { $0 })
        run.delay = .milliseconds(1)
        run.send(.start)
        while run.now < end, run.step() != nil {}
        return run
    }

    /// Some middleboxes drop packets of a forgotten connection silently, others reset it.
    @Test(arguments: [12, 30, 45, 60, 100, 200], [true, false])
    func `a middlebox that drops idle connections costs a few connections a day and few pings`(memory: Int, resets: Bool) {
        let day = Moment(.seconds(86_400))
        let world = run(PaceWorld(memory: .seconds(memory), resets: resets, seed: 1), seed: 1, until: day).far
        #expect(world.lost.count <= 30)
        #expect(memory < 120 ? !world.lost.isEmpty : world.lost.isEmpty)
        #expect(world.pings <= 2 * 86_400 / min(memory, 120))
        #expect(world.longest <= .seconds(120) && world.longest >= .seconds(min(memory, 120) / 2))
    }

    @Test(arguments: 1...25 as ClosedRange<UInt64>)
    func `a silent link is detected within the current interval plus the timeout, on all networks`(seed: UInt64) {
        var world = PaceWorld(memory: .seconds(3600), resets: false, seed: seed)
        world.isUnstable = true
        let run = run(world, seed: seed, until: Moment(.seconds(6 * 3600)))
        #expect(run.far.lost.count > 10, "seed \(seed): \(run.far.lost.count)")
        for link in run.far.lost { #expect(link.detectedAfter <= link.allowed, "seed \(seed): \(link)") }
    }
}

/// A server that answers pings, behind a middlebox that drops idle connections.
struct PaceWorld: Machine {
    typealias Input = Session.Effect
    typealias Effect = Session.Input

    /// A connection that became silent: the time until its detection, and the allowed time.
    struct DeadLink {
        let detectedAfter, allowed: Duration
    }
    private struct Link {
        var heartbeat: Heartbeat
        var interval: Duration
        var lastTraffic: Moment
        /// The time from which nothing comes back.
        var deadSince: Moment?
        /// The longest interval since then.
        var longestInterval = Duration.zero
    }
    private enum Event {
        case open(UInt64)
        case pong(UInt64, [UInt8])
        case broken(UInt64)
        case change
    }
    private static let patience = Duration.seconds(10)

    let memory: Duration
    let resets: Bool
    /// Whether links also become silent at random, and the device changes networks.
    var isUnstable = false { didSet { agenda.append((.start + .seconds(60), .change)) } }
    private var random: SeededGenerator
    private var links: [UInt64: Link] = [:]
    private var agenda: [(at: Moment, event: Event)] = []
    private(set) var lost: [DeadLink] = []
    private(set) var pings = 0
    private(set) var longest = Duration.zero

    init(memory: Duration, resets: Bool, seed: UInt64) {
        (self.memory, self.resets, random) = (memory, resets, SeededGenerator(seed: seed))
    }

    var deadline: Moment? { (agenda.map(\.at) + links.values.compactMap(\.heartbeat.deadline)).min() }

    mutating func handle(_ order: Session.Effect, at now: Moment, into effects: inout [Session.Input]) {
        switch order {
        case .connect(let attempt): agenda.append((now + .milliseconds(100), .open(attempt.generation)))
        case .disconnect(let generation, _), .retire(let generation): links[generation] = nil
        case .abandon: links = [:]
        case .probe(let generation): feed(generation, .probe, at: now, into: &effects)
        case .setPingInterval(let generation, let interval):
            guard let longestInterval = links[generation]?.longestInterval else { return }
            links[generation]?.interval = interval
            links[generation]?.longestInterval = max(longestInterval, interval)
            longest = max(longest, interval)
            feed(generation, .setInterval(interval), at: now, into: &effects)
        case .fetchCredential, .cancelFetch, .report, .transmit, .recall, .refused, .backlog: break
        }
    }

    mutating func wake(at now: Moment, into effects: inout [Session.Input]) {
        let due = agenda.filter { $0.at <= now }
        agenda.removeAll { $0.at <= now }
        for (_, event) in due { apply(event, at: now, into: &effects) }
        for generation in links.keys.sorted() { feed(generation, nil, at: now, into: &effects) }
    }

    private mutating func apply(_ event: Event, at now: Moment, into effects: inout [Session.Input]) {
        switch event {
        case .open(let generation):
            // The configuration applies until the session sets an interval.
            let heartbeat = Heartbeat(patience: Self.patience, seed: UInt32(truncatingIfNeeded: generation), openedAt: now)
            links[generation] = Link(heartbeat: heartbeat, interval: .seconds(20), lastTraffic: now)
            effects.append(.opened(generation: generation))
        case .pong(let generation, let payload):
            guard links[generation]?.deadSince == nil else { return }
            feed(generation, .pong(payload), at: now, into: &effects)
        case .broken(let generation): end(generation, Loss(.lost, wasIdle: true), at: now, into: &effects)
        case .change: change(at: now, into: &effects)
        }
    }

    private mutating func feed(_ generation: UInt64, _ input: Heartbeat.Input?, at now: Moment, into effects: inout [Session.Input]) {
        guard var heartbeat = links[generation]?.heartbeat else { return }
        var beats: [Heartbeat.Effect] = []
        if let input { heartbeat.handle(input, at: now, into: &beats) } else { heartbeat.wake(at: now, into: &beats) }
        for beat in beats {
            guard case .sendPing(let payload) = beat else { continue }
            var rest: [Heartbeat.Effect] = []
            heartbeat.handle(.written(payload), at: now, into: &rest)
        }
        links[generation]?.heartbeat = heartbeat
        for beat in beats {
            switch beat {
            case .sendPing(let payload): carry(payload, of: generation, at: now)
            case .roundTrip: effects.append(.answered(generation: generation))
            case .dead: end(generation, Loss(.unresponsive), at: now, into: &effects)
            case .expired: break
            }
        }
    }

    private mutating func carry(_ payload: [UInt8], of generation: UInt64, at now: Moment) {
        guard let link = links[generation] else { return }
        pings += 1
        if link.deadSince == nil, now - link.lastTraffic > memory {
            goSilent(generation, at: link.lastTraffic + memory)
            if resets { return agenda.append((now + .milliseconds(50), .broken(generation))) }
        }
        guard links[generation]?.deadSince == nil else { return }
        links[generation]?.lastTraffic = now
        agenda.append((now + .milliseconds(Int.random(in: 20...900, using: &random)), .pong(generation, payload)))
    }

    private mutating func goSilent(_ generation: UInt64, at moment: Moment) {
        guard let link = links[generation], link.deadSince == nil else { return }
        links[generation]?.deadSince = moment
        links[generation]?.longestInterval = link.interval
    }

    private mutating func end(_ generation: UInt64, _ loss: Loss, at now: Moment, into effects: inout [Session.Input]) {
        guard let link = links.removeValue(forKey: generation) else { return }
        if let since = link.deadSince { lost.append(DeadLink(detectedAfter: now - since, allowed: link.longestInterval + Self.patience)) }
        effects.append(.lost(generation: generation, loss))
    }

    private mutating func change(at now: Moment, into effects: inout [Session.Input]) {
        if Int.random(in: 0..<3, using: &random) > 0 {
            for generation in links.keys.sorted() { goSilent(generation, at: now) }
        } else {
            let interface = "en\(Int.random(in: 0...2, using: &random))"
            effects.append(.path(.satisfied(NetworkPath(.wifi, interface: interface))))
        }
        agenda.append((now + .seconds(Int.random(in: 30...900, using: &random)), .change))
    }
}
