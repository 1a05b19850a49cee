import MachineCore
import SessionCore
import Testing
import WebSocketCore

/// A reconnector whose calls return their effects.
///
/// By default its waits are not random.
struct Driven {
    private(set) var machine: Reconnector
    private(set) var now = Moment.start

    init(
        _ policy: ReconnectPolicy = ReconnectPolicy(backoff: Backoff(base: .seconds(1), jitter: .proportional(0))), endpoints: Int = 1,
        hasCredentials: Bool = false
    ) {
        machine = Reconnector(policy: policy, endpoints: endpoints, hasCredentials: hasCredentials, seed: 7)
    }

    /// The remaining time of the wait, if there is one.
    var wait: Duration? { machine.deadline.map { $0 - now } }
    var waitingAttempt: Int? { if case .waiting(_, let attempt) = machine.phase { attempt } else { nil } }
    var isConnected: Bool { if case .connected = machine.phase { true } else { false } }
    /// The running attempt.
    var attempt: Reconnector.Attempt? {
        switch machine.phase {
        case .connecting(let attempt), .handingOver(_, _, let attempt): attempt
        default: nil
        }
    }

    mutating func pass(_ time: Duration) { now = now + time }
    @discardableResult
    mutating func handle(_ input: Reconnector.Input) -> [Reconnector.Effect] {
        var effects: [Reconnector.Effect] = []
        machine.handle(input, at: now, into: &effects)
        return effects
    }
    /// The newest connection opens.
    @discardableResult
    mutating func open() -> [Reconnector.Effect] { handle(.opened(generation: machine.generation)) }
    /// The newest connection or attempt is lost.
    @discardableResult
    mutating func lose(_ cause: LossCause = .lost, retryAfter: Duration? = nil) -> [Reconnector.Effect] {
        handle(.lost(generation: machine.generation, Loss(cause, retryAfter: retryAfter)))
    }
    @discardableResult
    mutating func wake() -> [Reconnector.Effect] {
        var effects: [Reconnector.Effect] = []
        machine.wake(at: now, into: &effects)
        return effects
    }
    @discardableResult
    mutating func wakeAtDeadline() -> [Reconnector.Effect] {
        now = machine.deadline ?? now
        return wake()
    }
    /// Starts, opens, and stays connected for this time.
    mutating func connect(for time: Duration) {
        handle(.start)
        open()
        pass(time)
    }
}

/// A reconnector with a record of its connections and attempts, and of the earliest times for new attempts.
struct AuditedReconnector: Machine, Hashable {
    enum Input: Hashable {
        case machine(Reconnector.Input)
        case newestOpens, olderOpens
        case newestIsLost(Loss), olderIsLost(Loss)
        case newestIsReady, newestIsRejected, olderIsReady
    }

    let policy: ReconnectPolicy
    var machine: Reconnector
    var live: Set<UInt64> = []
    /// The earliest time for the next attempt.
    var earliestNext = Moment.start
    var retryAfter: [Int: Moment] = [:]
    var endpoints: [UInt64: Int] = [:]
    var deadline: Moment? { machine.deadline }

    init(_ policy: ReconnectPolicy, endpoints: Int, hasCredentials: Bool, seed: UInt64 = 1) {
        self.policy = policy
        machine = Reconnector(policy: policy, endpoints: endpoints, hasCredentials: hasCredentials, seed: seed)
    }

    /// The machine's input for this input.
    func translated(_ input: Input) -> Reconnector.Input {
        let older = machine.generation &- 1
        return switch input {
        case .machine(let input): input
        case .newestOpens: .opened(generation: machine.generation)
        case .olderOpens: .opened(generation: older)
        case .newestIsLost(let loss): .lost(generation: machine.generation, loss)
        case .olderIsLost(let loss): .lost(generation: older, loss)
        case .newestIsReady: .ready(generation: machine.generation)
        case .newestIsRejected: .rejected(generation: machine.generation)
        case .olderIsReady: .ready(generation: older)
        }
    }

    mutating func handle(_ input: Input, at now: Moment, into effects: inout [Reconnector.Effect]) {
        let input = translated(input)
        // A lost connection is gone, whether the machine reacts or not.
        if case .lost(let generation, let loss) = input, live.remove(generation) != nil, let endpoint = endpoints[generation] {
            if let patience = loss.retryAfter { retryAfter[endpoint] = now + min(patience, policy.longestRetryAfter) }
        }
        let known = effects.count
        machine.handle(input, at: now, into: &effects)
        note(effects[known...], at: now)
    }
    mutating func wake(at now: Moment, into effects: inout [Reconnector.Effect]) {
        let known = effects.count
        machine.wake(at: now, into: &effects)
        note(effects[known...], at: now)
    }
    private mutating func note(_ effects: ArraySlice<Reconnector.Effect>, at now: Moment) {
        for effect in effects {
            switch effect {
            case .connect(let attempt):
                live.insert(attempt.generation)
                earliestNext = now + policy.spacing
                retryAfter[attempt.endpoint] = nil
                endpoints = endpoints.filter { live.contains($0.key) }
                endpoints[attempt.generation] = attempt.endpoint
            case .disconnect(let generation), .retire(let generation): live.remove(generation)
            case .report: break
            }
        }
    }
}

/// The invariants that hold on every edge.
///
/// - Parameter input: The event, or nil if time passed.
func expectPromises(
    _ before: AuditedReconnector, _ input: AuditedReconnector.Input?, _ effects: [Reconnector.Effect], _ after: AuditedReconnector,
    at now: Moment, _ context: @autoclosure () -> String
) {
    func expect(_ holds: Bool, _ invariant: String) { if !holds { Issue.record("\(invariant)\n\(context())") } }
    let (machine, phase) = (after.machine, after.machine.phase)
    let input = input.map(before.translated)

    let expectedLive: Set<UInt64> =
        switch phase {
        case .connecting(let attempt), .connected(let attempt, _): [attempt.generation]
        case .handingOver(let old, _, let new): [old.generation, new.generation]
        case .idle, .waiting, .held, .stopped: []
        }
    expect(after.live == expectedLive, "the phase names exactly the live connections and attempts")

    for case .connect(let attempt) in effects {
        expect(now >= before.earliestNext, "attempts are spaced")
        expect(
            now >= before.retryAfter[attempt.endpoint] ?? .start || now >= after.retryAfter[attempt.endpoint] ?? .start,
            "Retry-After is respected")
        expect(attempt.generation == before.machine.generation + 1, "each attempt has its own generation")
        expect(attempt.number <= after.policy.maximumAttempts, "the limit of attempts is respected")
        expect(!machine.isHeld, "no attempt starts while held")
    }
    expect(effects.count { if case .connect = $0 { true } else { false } } <= 1, "an input starts at most one attempt")
    for case .retire(let generation) in effects {
        guard case .handingOver(let old, _, let new) = before.machine.phase else { return expect(false, "only a hand-over retires") }
        expect(generation == old.generation && input == .opened(generation: new.generation), "the successor is open")
    }

    if case .waiting(let until, _) = phase {
        expect(machine.deadline == until && until > now, "a wait ends in the future")
        expect(until - now <= after.policy.longestWait, "no wait exceeds the limit")
    }
    if case .waiting(let earlier, _) = before.machine.phase, case .waiting(let later, _) = phase {
        let isRejected = if case .rejected? = input { true } else { false }
        expect(later <= earlier || isRejected, "no wait grows unless a protocol rejects the connection")
    }
    if machine.isHeld {
        let isQuiet =
            switch phase {
            case .idle, .connected, .held, .stopped: machine.deadline == nil
            case .connecting, .handingOver, .waiting: false
            }
        expect(isQuiet, "a held session neither tries nor waits")
    }
    if case .stopped = before.machine.phase { expect(effects.isEmpty && machine == before.machine, "nothing happens after the end") }
    if case .stopped = phase { expect(machine.deadline == nil, "a stopped session has no deadline") }

    let reports = effects.compactMap { if case .report(let phase) = $0 { phase } else { nil } }
    expect(reports == (before.machine.phase == phase ? [] : [phase]), "every change is reported once")

    if case .idle = phase {
        switch before.machine.phase {
        case .idle: break
        case .connecting, .connected, .handingOver, .waiting, .held, .stopped:
            let isLoss = if case .lost? = input { !after.policy.isAutomatic } else { false }
            expect(input == .disconnect || isLoss, "only disconnect, or a loss without automatic reconnect, leads to idle")
        }
        expect(machine.deadline == nil, "an idle session has no deadline")
    } else if case .idle = before.machine.phase {
        expect(input == .start || input == .retryNow || input == .stop, "only the app ends the idle phase")
    }
    if input == .disconnect, before.machine.phase != phase {
        expect(phase == .idle && after.live.isEmpty, "the app's disconnect ends all connections in every phase")
    }

    switch input {
    case .opened(let generation), .lost(let generation, _):
        if !before.live.contains(generation) { expect(effects.isEmpty && machine == before.machine, "late reports are ignored") }
    case nil:
        guard let deadline = before.deadline else { return expect(effects.isEmpty, "without a deadline time changes nothing") }
        if now < deadline {
            expect(effects.isEmpty && after == before, "waking early does nothing")
        } else {
            expect(!effects.isEmpty && after.deadline ?? .distantFuture > now, "a deadline has an effect, and the next one is later")
        }
    default: break
    }
}
