import CodecCore
import HoldfastTesting
import MachineCore
import Testing

@testable import WAMPCore

@Suite("Dealer: all reachable states")
struct DealerExplorationTests {
    @Test("a caller and a callee: every step in every state keeps the invariants")
    func twoSessions() throws {
        let states = try explore(Play(), inputs: Play.Input.allCases, depth: 5, tick: .seconds(2)) { step in
            try #require(step.after.tracker.violations.isEmpty, "\(step.after.tracker.violations)\n\(step)")
            let waiting = step.after.tracker.calls.values.reduce(0) { $0 + $1.count }
            try #require(step.after.dealer.waitingCalls == waiting, "\(step)")
            // Each pending call has an invocation, and each invocation belongs to a call.
            let known = step.after.dealer.members.values.reduce(0) { $0 + $1.invocations.count }
            try #require(known == waiting, "\(step)")
            try #require(step.after.living.count > 0 || step.after.dealer.isEmpty, "\(step)")
        }
        #expect(states > 500)
    }
}

/// A caller, a callee with all features, and a dealer between them.
private struct Play: Machine, Hashable {
    enum Input: CaseIterable {
        case register, unregister
        case call, callForParts, callInParts, part, lastPart
        case skip, kill, killNoWait
        case yield, yieldPart, fail
        case callerLeaves, calleeLeaves
    }

    static let caller = Participant.peer(1)
    static let callee = Participant.peer(2)

    private(set) var dealer = Dealer(policy: RouterPolicy(interruptPatience: .seconds(3)), seed: 1)
    private(set) var tracker = DealerLedger()
    private(set) var living: Set<Participant> = [caller, callee]
    private var lastCall: WAMPID = 0
    private var isInParts = false
    private var registration: WAMPID?

    init() {
        tracker.joined(Self.caller)
        tracker.joined(Self.callee)
        // The procedure is registered at the beginning.
        var effects: [RouterEffect] = []
        handle(.register, at: .start, into: &effects)
    }

    var deadline: Moment? { dealer.deadline }

    mutating func wake(at now: Moment, into effects: inout [RouterEffect]) {
        dealer.wake(at: now, into: &effects)
        tracker.take(effects)
    }

    mutating func handle(_ input: Input, at now: Moment, into effects: inout [RouterEffect]) {
        let isCallers: Bool
        switch input {
        case .call, .callForParts, .callInParts, .part, .lastPart, .skip, .kill, .killNoWait, .callerLeaves: isCallers = true
        default: isCallers = false
        }
        guard living.contains(isCallers ? Self.caller : Self.callee) else { return }
        var violation: String?
        switch input {
        case .register: violation = dealer.register(1, [:], "com.a", by: Self.callee, at: now, into: &effects)
        case .unregister: if let registration { dealer.unregister(1, registration: registration, by: Self.callee, into: &effects) }
        case .call: violation = call(["timeout": 5000], at: now, into: &effects)
        case .callForParts: violation = call(["timeout": 5000, "receive_progress": true], at: now, into: &effects)
        case .callInParts: violation = call(["progress": true], at: now, into: &effects)
        case .part: violation = callFurther(["progress": true], at: now, into: &effects)
        case .lastPart: violation = callFurther([:], at: now, into: &effects)
        case .skip: violation = dealer.cancel(lastCall, ["mode": "skip"], by: Self.caller, at: now, into: &effects)
        case .kill: violation = dealer.cancel(lastCall, ["mode": "kill"], by: Self.caller, at: now, into: &effects)
        case .killNoWait: violation = dealer.cancel(lastCall, ["mode": "killnowait"], by: Self.caller, at: now, into: &effects)
        case .yield:
            if let request = answered() { violation = dealer.yield(request, [:], .none, by: Self.callee, at: now, into: &effects) }
        case .yieldPart:
            if let request = tracker.waiting(of: Self.callee).first {
                violation = dealer.yield(request, ["progress": true], .none, by: Self.callee, at: now, into: &effects)
            }
        case .fail:
            if let request = answered() { violation = dealer.fail(request, uri: "com.error", .none, by: Self.callee, into: &effects) }
        case .callerLeaves: leave(Self.caller, into: &effects)
        case .calleeLeaves: leave(Self.callee, into: &effects)
        }
        // A violation would be a bug of the dealer: no step here violates the protocol.
        if let violation { tracker.report(violation) }
        for case .send(.registered(_, let id), _) in effects { registration = id }
        tracker.take(effects)
        dealer.metaEvents = []
    }

    private mutating func call(_ options: ValueMap, at now: Moment, into effects: inout [RouterEffect]) -> String? {
        guard lastCall < 2 else { return nil }
        lastCall += 1
        isInParts = options["progress"] != nil
        tracker.called(lastCall, by: Self.caller)
        return dealer.call(lastCall, options, "com.a", .none, isNew: true, by: Self.caller, at: now, into: &effects)
    }

    private mutating func callFurther(_ options: ValueMap, at now: Moment, into effects: inout [RouterEffect]) -> String? {
        guard isInParts else { return nil }
        if options.isEmpty { isInParts = false }
        return dealer.call(lastCall, options, "com.a", .none, isNew: false, by: Self.caller, at: now, into: &effects)
    }

    /// Answers the first invocation that the callee has.
    private mutating func answered() -> WAMPID? {
        guard let request = tracker.waiting(of: Self.callee).first else { return nil }
        tracker.answered(request, by: Self.callee)
        return request
    }

    private mutating func leave(_ session: Participant, into effects: inout [RouterEffect]) {
        living.remove(session)
        tracker.left(session)
        dealer.leave(session.session, into: &effects)
    }

    // Two dealers are equal if their sessions, their registrations and their deadlines are.

    static func == (one: Play, other: Play) -> Bool {
        one.dealer.members == other.dealer.members && one.dealer.registrations == other.dealer.registrations
            && one.deadline == other.deadline
            && one.tracker == other.tracker && one.living == other.living && one.lastCall == other.lastCall
            && one.isInParts == other.isInParts
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(dealer.members)
        hasher.combine(deadline)
        hasher.combine(living)
        hasher.combine(lastCall)
    }
}
