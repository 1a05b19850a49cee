import HoldfastTesting
import MachineCore
import SessionCore
import Testing
import WebSocketCore

/// Days of a session on networks that forget, with a real heartbeat on each connection.
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

    /// Some swallow what comes for a connection that they forgot, others break it.
    @Test(arguments: [12, 30, 45, 60, 100, 200], [true, false])
    func `a middlebox that forgets after some silence costs a few connections a day, and few pings`(memory: Int, breaks: Bool) {
        let day = Moment(.seconds(86_400))
        let world = run(PaceWorld(memory: .seconds(memory), breaks: breaks, seed: 1), seed: 1, until: day).far
        #expect(world.lost.count <= 30)
        #expect(memory < 120 ? !world.lost.isEmpty : world.lost.isEmpty)
        #expect(world.pings <= 2 * 86_400 / min(memory, 120))
        #expect(world.longest <= .seconds(120) && world.longest >= .seconds(min(memory, 120) / 2))
    }

    @Test(arguments: 1...25 as ClosedRange<UInt64>)
    func `a link that falls silent is found within the interval in force and the patience, wherever the device goes`(seed: UInt64) {
        var world = PaceWorld(memory: .seconds(3600), breaks: false, seed: seed)
        world.isHostile = true
        let run = run(world, seed: seed, until: Moment(.seconds(6 * 3600)))
        #expect(run.far.lost.count > 10, "seed \(seed): \(run.far.lost.count)")
        for death in run.far.lost { #expect(death.took <= death.bound, "seed \(seed): \(death)") }
    }
}

/// A server that answers pings, behind a middlebox that forgets whoever is silent for too long.
struct PaceWorld: Machine {
    typealias Input = Session.Effect
    typealias Effect = Session.Input

    /// A connection that fell silent: how long nobody knew, and how long that may take.
    struct Death {
        let took, bound: Duration
    }
    private struct Link {
        var heartbeat: Heartbeat
        var interval: Duration
        var lastTraffic: Moment
        /// Since when nothing comes back.
        var deadSince: Moment?
        /// The longest interval in force since then.
        var worst = Duration.zero
    }
    private enum Event {
        case open(UInt64)
        case pong(UInt64, [UInt8])
        case broken(UInt64)
        case turn
    }
    private static let patience = Duration.seconds(10)

    let memory: Duration
    let breaks: Bool
    /// Whether links also fall silent by chance, and the device wanders between networks.
    var isHostile = false { didSet { agenda.append((.start + .seconds(60), .turn)) } }
    private var random: SeededGenerator
    private var links: [UInt64: Link] = [:]
    private var agenda: [(at: Moment, event: Event)] = []
    private(set) var lost: [Death] = []
    private(set) var pings = 0
    private(set) var longest = Duration.zero

    init(memory: Duration, breaks: Bool, seed: UInt64) {
        (self.memory, self.breaks, random) = (memory, breaks, SeededGenerator(seed: seed))
    }

    var deadline: Moment? { (agenda.map(\.at) + links.values.compactMap(\.heartbeat.deadline)).min() }

    mutating func handle(_ order: Session.Effect, at now: Moment, into effects: inout [Session.Input]) {
        switch order {
        case .connect(let attempt): agenda.append((now + .milliseconds(100), .open(attempt.generation)))
        case .disconnect(let generation, _), .retire(let generation): links[generation] = nil
        case .abandon: links = [:]
        case .probe(let generation): feed(generation, .probe, at: now, into: &effects)
        case .setPingInterval(let generation, let interval):
            guard let worst = links[generation]?.worst else { return }
            links[generation]?.interval = interval
            links[generation]?.worst = max(worst, interval)
            longest = max(longest, interval)
            feed(generation, .setInterval(interval), at: now, into: &effects)
        case .fetchCredential, .cancelFetch, .report, .transmit, .recall, .refused, .backlog: break
        }
    }

    mutating func wake(at now: Moment, into effects: inout [Session.Input]) {
        let due = agenda.filter { $0.at <= now }
        agenda.removeAll { $0.at <= now }
        for (_, event) in due { happen(event, at: now, into: &effects) }
        for generation in links.keys.sorted() { feed(generation, nil, at: now, into: &effects) }
    }

    private mutating func happen(_ event: Event, at now: Moment, into effects: inout [Session.Input]) {
        switch event {
        case .open(let generation):
            // Until the session says otherwise, by the configuration.
            let heartbeat = Heartbeat(patience: Self.patience, seed: UInt32(truncatingIfNeeded: generation), openedAt: now)
            links[generation] = Link(heartbeat: heartbeat, interval: .seconds(20), lastTraffic: now)
            effects.append(.opened(generation: generation))
        case .pong(let generation, let payload):
            guard links[generation]?.deadSince == nil else { return }
            feed(generation, .pong(payload), at: now, into: &effects)
        case .broken(let generation): end(generation, Loss(.lost, wasIdle: true), at: now, into: &effects)
        case .turn: turn(at: now, into: &effects)
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
            die(generation, at: link.lastTraffic + memory)
            if breaks { return agenda.append((now + .milliseconds(50), .broken(generation))) }
        }
        guard links[generation]?.deadSince == nil else { return }
        links[generation]?.lastTraffic = now
        agenda.append((now + .milliseconds(Int.random(in: 20...900, using: &random)), .pong(generation, payload)))
    }

    private mutating func die(_ generation: UInt64, at moment: Moment) {
        guard let link = links[generation], link.deadSince == nil else { return }
        links[generation]?.deadSince = moment
        links[generation]?.worst = link.interval
    }

    private mutating func end(_ generation: UInt64, _ loss: Loss, at now: Moment, into effects: inout [Session.Input]) {
        guard let link = links.removeValue(forKey: generation) else { return }
        if let since = link.deadSince { lost.append(Death(took: now - since, bound: link.worst + Self.patience)) }
        effects.append(.lost(generation: generation, loss))
    }

    private mutating func turn(at now: Moment, into effects: inout [Session.Input]) {
        if Int.random(in: 0..<3, using: &random) > 0 {
            for generation in links.keys.sorted() { die(generation, at: now) }
        } else {
            let interface = "en\(Int.random(in: 0...2, using: &random))"
            effects.append(.path(.satisfied(NetworkPath(.wifi, interface: interface))))
        }
        agenda.append((now + .seconds(Int.random(in: 30...900, using: &random)), .turn))
    }
}
