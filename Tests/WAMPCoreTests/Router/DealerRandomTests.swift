import CodecCore
import HoldfastTesting
import MachineCore
import Testing

@testable import WAMPCore

@Suite("Dealer: random steps")
struct DealerRandomTests {
    @Test(
        "each call of a remaining session is answered once, no finished call causes messages, and nothing is left", arguments: 0..<20)
    func promises(seed: Int) throws {
        var world = World(seed: UInt64(seed))
        for step in 0..<2000 {
            world.step()
            try #require(world.tracker.violations.isEmpty, "seed \(seed), step \(step): \(world.tracker.violations)")
        }
        world.settle()
        #expect(world.tracker.violations.isEmpty, "seed \(seed): \(world.tracker.violations)")
        #expect(world.tracker.isSettled, "seed \(seed): \(world.tracker.calls)")
        #expect(world.stage.dealer.waitingCalls == 0 && world.stage.dealer.deadline == nil)
        world.leaveAll()
        #expect(world.stage.dealer.isEmpty, "seed \(seed)")
        #expect(world.called > 100 && world.kinds == [8, 50, 65, 67, 68, 69], "all kinds were sent: \(world.called) \(world.kinds)")
    }
}

/// Sessions that randomly join, register, call, answer, cancel and leave.
private struct World {
    var stage = DealerStage { policy in (policy.maximumCalls, policy.maximumRegistrations) = (20, 6) }
    var tracker = DealerLedger()
    private(set) var called = 0
    /// The types of all messages sent.
    private(set) var kinds: Set<UInt64> = []
    private var chance: SeededGenerator
    private var sessions: [Participant] = []
    private var registrations: [WAMPID: [WAMPID]] = [:]
    private var openParts: [WAMPID: [(request: WAMPID, uri: String)]] = [:]
    private var lastSession: UInt64 = 0

    init(seed: UInt64) {
        chance = SeededGenerator(seed: seed)
        for _ in 0..<6 { join() }
    }

    mutating func step() {
        guard let session = sessions.randomElement(using: &chance) else { return join() }
        switch Int.random(in: 0..<100, using: &chance) {
        case 0..<3: if sessions.count < 8 { join() }
        case 3..<6: leave(session)
        case 6..<14: register(session)
        case 14..<18: unregister(session)
        case 18..<50: call(session)
        case 50..<56: callFurther(session)
        case 56..<66: cancel(session)
        case 66..<70: revoke()
        case 70..<74: take(stage.pass(.milliseconds(Int.random(in: 0..<4000, using: &chance))))
        default: answer(session)
        }
    }

    /// Each callee answers everything that is pending, and time passes.
    mutating func settle() {
        for session in sessions {
            for request in tracker.waiting(of: session) {
                tracker.answered(request, by: session)
                take(stage.yield(request, by: session))
            }
        }
        take(stage.pass(.seconds(60)))
    }

    mutating func leaveAll() { while let session = sessions.last { leave(session) } }

    private mutating func take(_ effects: [RouterEffect]) {
        kinds.formUnion(effects.types)
        tracker.take(effects)
    }

    private mutating func join() {
        lastSession += 1
        let abilities: [PeerAbilities] = [.everything, [.interrupts, .sendsParts], [.sendsParts, .lostRegistrations]]
        let session = Participant.peer(lastSession, abilities[Int.random(in: 0..<3, using: &chance)])
        sessions.append(session)
        tracker.joined(session)
    }

    private mutating func leave(_ session: Participant) {
        sessions.removeAll { $0 == session }
        tracker.left(session)
        (registrations[session.session], openParts[session.session]) = (nil, nil)
        take(stage.leave(session))
    }

    private mutating func register(_ session: Participant) {
        let offers: [(String, ValueMap)] = [
            ("com.a", ["invoke": "roundrobin"]), ("com.a", ["invoke": "random"]), ("com.b", [:]),
            ("com.c", ["concurrency": 2, "invoke": "first"]),
            ("com.", ["match": "prefix", "invoke": "last"]), ("com..x", ["match": "wildcard"]), ("com.d", ["forward_timeout": true]),
            ("wamp.x", [:]),
        ]
        let (uri, options) = offers[Int.random(in: 0..<offers.count, using: &chance)]
        let effects = stage.register(uri, options, by: session)
        take(effects)
        for case .send(.registered(_, let id), _) in effects { registrations[session.session, default: []].append(id) }
    }

    private mutating func unregister(_ session: Participant) {
        let known = registrations.keys.sorted().flatMap { registrations[$0] ?? [] }
        guard let id = known.randomElement(using: &chance) else { return }
        let request = stage.next(of: session)
        take(stage.ask { $0.unregister(request, registration: id, by: session, into: &$2) })
    }

    private mutating func revoke() {
        guard let id = stage.dealer.registrations.keys.sorted().randomElement(using: &chance) else { return }
        take(stage.revoke(id).effects)
    }

    private mutating func call(_ session: Participant) {
        let uris = ["com.a", "com.b", "com.c", "com.d", "com.y.x", "com.z", "org.q", "bad..uri", "wamp.x"]
        let uri = uris[Int.random(in: 0..<uris.count, using: &chance)]
        var options = ValueMap()
        if Bool.random(using: &chance) { options["receive_progress"] = true }
        if Int.random(in: 0..<3, using: &chance) == 0 { options["timeout"] = .integer(Int64.random(in: 0..<3000, using: &chance)) }
        if Int.random(in: 0..<4, using: &chance) == 0 { options["progress"] = true }
        let request = stage.next(of: session)
        tracker.called(request, by: session)
        if options["progress"] != nil { openParts[session.session, default: []].append((request, uri)) }
        called += 1
        var violation: String?
        take(stage.ask { violation = $0.call(request, options, uri, .none, isNew: true, by: session, at: $1, into: &$2) })
        if let violation { Issue.record("\(violation)") }
    }

    private mutating func callFurther(_ session: Participant) {
        guard let place = openParts[session.session]?.indices.randomElement(using: &chance),
            let (request, uri) = openParts[session.session]?[place]
        else { return }
        let isLast = Bool.random(using: &chance)
        if isLast { openParts[session.session]?.remove(at: place) }
        var violation: String?
        take(
            stage.ask {
                violation = $0.call(request, isLast ? [:] : ["progress": true], uri, .none, isNew: false, by: session, at: $1, into: &$2)
            })
        if let violation { Issue.record("\(violation)") }
    }

    private mutating func cancel(_ session: Participant) {
        let waiting = tracker.calls[session.session]?.sorted() ?? []
        let request = waiting.randomElement(using: &chance) ?? 1
        take(stage.cancel(request, CallOptions.CancelMode.allCases.randomElement(using: &chance), by: session))
    }

    private mutating func answer(_ session: Participant) {
        guard let request = tracker.waiting(of: session).randomElement(using: &chance) else { return }
        switch Int.random(in: 0..<4, using: &chance) {
        case 0: take(stage.yield(request, ["progress": true], by: session))
        case 1:
            tracker.answered(request, by: session)
            take(stage.fail(request, "com.error", by: session))
        default:
            tracker.answered(request, by: session)
            take(stage.yield(request, by: session))
            // A second answer is late and ignored.
            take(stage.yield(request, by: session))
        }
    }
}
