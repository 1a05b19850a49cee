import MachineCore
import SessionCore
import Testing
import WebSocketCore

/// A reconnector with its effects handed back one call at a time; by default without chance in its waits.
struct Driven {
    private(set) var machine: Reconnector
    private(set) var now = Moment.start

    init(
        _ policy: ReconnectPolicy = ReconnectPolicy(backoff: Backoff(base: .seconds(1), jitter: .proportional(0))), endpoints: Int = 1,
        hasCredentials: Bool = false
    ) {
        machine = Reconnector(policy: policy, endpoints: endpoints, hasCredentials: hasCredentials, seed: 7)
    }

    /// How long the wait still lasts; nil unless there is one.
    var wait: Duration? { machine.deadline.map { $0 - now } }
    var waitingAttempt: Int? { if case .waiting(_, let attempt) = machine.phase { attempt } else { nil } }
    var isConnected: Bool { if case .connected = machine.phase { true } else { false } }
    /// The attempt under way.
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
    /// The newest connection, or the attempt at it, is lost.
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
    /// Starts, opens, and lasts this long.
    mutating func connect(for time: Duration) {
        handle(.start)
        open()
        pass(time)
    }
}

/// A reconnector that keeps a book of what is open or under way, and of what it may not do before when.
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
    /// The newest attempt may not be followed by another before this.
    var spaced = Moment.start
    var barred: [Int: Moment] = [:]
    var endpoints: [UInt64: Int] = [:]
    var deadline: Moment? { machine.deadline }

    init(_ policy: ReconnectPolicy, endpoints: Int, hasCredentials: Bool, seed: UInt64 = 1) {
        self.policy = policy
        machine = Reconnector(policy: policy, endpoints: endpoints, hasCredentials: hasCredentials, seed: seed)
    }

    /// The input as the machine gets it.
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
        // A connection is gone for good once lost, whether or not the machine cares.
        if case .lost(let generation, let loss) = input, live.remove(generation) != nil, let endpoint = endpoints[generation] {
            if let patience = loss.retryAfter { barred[endpoint] = now + min(patience, policy.longestRetryAfter) }
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
                spaced = now + policy.spacing
                barred[attempt.endpoint] = nil
                endpoints = endpoints.filter { live.contains($0.key) }
                endpoints[attempt.generation] = attempt.endpoint
            case .disconnect(let generation), .retire(let generation): live.remove(generation)
            case .report: break
            }
        }
    }
}

/// What holds on every edge, whatever happens.
///
/// - Parameter input: What happened; nil: time passed.
func expectPromises(
    _ before: AuditedReconnector, _ input: AuditedReconnector.Input?, _ effects: [Reconnector.Effect], _ after: AuditedReconnector,
    at now: Moment, _ story: @autoclosure () -> String
) {
    func expect(_ isKept: Bool, _ promise: String) { if !isKept { Issue.record("\(promise)\n\(story())") } }
    let (machine, phase) = (after.machine, after.machine.phase)
    let input = input.map(before.translated)

    let serving: Set<UInt64> =
        switch phase {
        case .connecting(let attempt), .connected(let attempt, _): [attempt.generation]
        case .handingOver(let old, _, let new): [old.generation, new.generation]
        case .idle, .waiting, .held, .stopped: []
        }
    expect(after.live == serving, "nothing is live but what the phase says, and that is")

    for case .connect(let attempt) in effects {
        expect(now >= before.spaced, "attempts are spaced")
        expect(now >= before.barred[attempt.endpoint] ?? .start || now >= after.barred[attempt.endpoint] ?? .start, "Retry-After is heeded")
        expect(attempt.generation == before.machine.generation + 1, "each attempt has a generation of its own")
        expect(attempt.number <= after.policy.maximumAttempts, "the limit of attempts is kept")
        expect(!machine.isHeld, "nothing is tried while held")
    }
    expect(effects.count { if case .connect = $0 { true } else { false } } <= 1, "one reason starts one attempt")
    for case .retire(let generation) in effects {
        guard case .handingOver(let old, _, let new) = before.machine.phase else { return expect(false, "only a hand-over retires") }
        expect(generation == old.generation && input == .opened(generation: new.generation), "make before break")
    }

    if case .waiting(let until, _) = phase {
        expect(machine.deadline == until && until > now, "a wait ends, and later than now")
        expect(until - now <= after.policy.longestWait, "no wait is above the limit")
    }
    if case .waiting(let earlier, _) = before.machine.phase, case .waiting(let later, _) = phase {
        let isRejected = if case .rejected? = input { true } else { false }
        expect(later <= earlier || isRejected, "no wait grows, unless a protocol gives the connection up")
    }
    if machine.isHeld {
        let isQuiet =
            switch phase {
            case .idle, .connected, .held, .stopped: machine.deadline == nil
            case .connecting, .handingOver, .waiting: false
            }
        expect(isQuiet, "what is held neither tries nor waits")
    }
    if case .stopped = before.machine.phase { expect(effects.isEmpty && machine == before.machine, "nothing comes after the end") }
    if case .stopped = phase { expect(machine.deadline == nil, "the end waits for nothing") }

    let reports = effects.compactMap { if case .report(let phase) = $0 { phase } else { nil } }
    expect(reports == (before.machine.phase == phase ? [] : [phase]), "every change is told once")

    if case .idle = phase {
        switch before.machine.phase {
        case .idle: break
        case .connecting, .connected, .handingOver, .waiting, .held, .stopped:
            let isLoss = if case .lost? = input { !after.policy.isAutomatic } else { false }
            expect(input == .disconnect || isLoss, "only the app's word, or a loss without reconnecting, leads to rest")
        }
        expect(machine.deadline == nil, "rest waits for nothing")
    } else if case .idle = before.machine.phase {
        expect(input == .start || input == .retryNow || input == .stop, "only the app ends a rest")
    }
    if input == .disconnect, before.machine.phase != phase {
        expect(phase == .idle && after.live.isEmpty, "the app's disconnect ends what is open, in every phase")
    }

    switch input {
    case .opened(let generation), .lost(let generation, _):
        if !before.live.contains(generation) { expect(effects.isEmpty && machine == before.machine, "late news is ignored") }
    case nil:
        guard let deadline = before.deadline else { return expect(effects.isEmpty, "time alone changes nothing") }
        if now < deadline {
            expect(effects.isEmpty && after == before, "waking early is harmless")
        } else {
            expect(!effects.isEmpty && after.deadline ?? .distantFuture > now, "a deadline is never idle, and time moves on")
        }
    default: break
    }
}
