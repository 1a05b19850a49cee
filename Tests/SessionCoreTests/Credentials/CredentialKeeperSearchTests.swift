import HoldfastTesting
import MachineCore
import SessionCore
import Testing

@Suite struct CredentialKeeperSearchTests {
    @Test func `in every sequence of events at most one fetch runs and each need gets exactly one answer`() {
        let lifetimes: [Duration?] = [.seconds(20), .zero, nil]
        let inputs: [Audited.Input] =
            [.late] + lifetimes.map { .provided($0) } + [true, false].map { .failed(isRetryable: $0) }
            + [.needed, .connected, .disconnected, .ended].map { .other($0) }
        let states = explore(Audited(), inputs: inputs, depth: 9, tick: .seconds(6)) { step in
            let (before, after) = (step.before, step.after)
            #expect((0...1).contains(after.fetches), "\(step)")
            #expect(after.isAwaited == after.machine.isNeeded, "a need is answered when its fetch ends, not earlier: \(step)")
            #expect(!after.wasAnsweredWithoutNeed, "\(step)")
            if step.input == .late { #expect(step.effects.isEmpty && after == before, "\(step)") }
            if step.effects.contains(.handOver) { #expect(before.isConnected && !before.isAwaited, "\(step)") }
            if before.isOver { #expect(step.effects.isEmpty && after.machine == before.machine, "\(step)") }
            if after.isOver { #expect(after.deadline == nil && after.fetches == 0, "\(step)") }
            if after.fetches == 1 { #expect(after.deadline != nil, "every fetch has a deadline: \(step)") }
            guard step.input == nil else { return }
            if case .fetch? = step.effects.first { #expect(before.isConnected, "\(step)") }
            if let deadline = before.deadline, step.now >= deadline {
                #expect(!step.effects.isEmpty && after.deadline ?? .distantFuture > step.now, "the deadline advances: \(step)")
            } else {
                #expect(step.effects.isEmpty && after == before, "waking early does nothing: \(step)")
            }
        }
        #expect(states > 1000)
    }

    /// A provider with random lifetimes, delays and failures, and a session that loses connections.
    @Test(arguments: 1...100 as ClosedRange<UInt64>)
    func `with an unreliable provider, fetches keep their pause for a day and no attempt waits beyond the timeout`(seed: UInt64) {
        var day = Day(seed: seed)
        while day.now < Moment(.seconds(86_400)) { day.step() }
        #expect(day.longestWait <= CredentialPolicy().timeout)
        #expect(day.shortestPause >= CredentialKeeper.pause, "between fetches that no attempt waits for")
        #expect(day.attempts > 10)
    }
}

/// A keeper with a random session and a random provider.
private struct Day {
    var random: SeededGenerator
    var keeper = CredentialKeeper()
    var now = Moment.start
    /// The inputs to come, besides the keeper's deadline.
    var pending: [(at: Moment, input: CredentialKeeper.Input)] = [(.start, .needed)]
    var isConnected = false
    var neededAt: Moment?
    var restingSince: Moment?
    var attempts = 0
    var longestWait = Duration.zero
    var shortestPause = Duration.seconds(Int64.max)

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func step() {
        let due = pending.map(\.at).min() ?? .distantFuture
        var effects: [CredentialKeeper.Effect] = []
        if let deadline = keeper.deadline, deadline <= due {
            now = max(now, deadline)
            keeper.wake(at: now, into: &effects)
            if case .fetch? = effects.first, let restingSince { shortestPause = min(shortestPause, now - restingSince) }
        } else {
            guard let index = pending.firstIndex(where: { $0.at == due }) else {
                Issue.record("no event is left")
                now = .distantFuture
                return
            }
            let input = pending.remove(at: index).input
            now = max(now, due)
            apply(input)
            keeper.handle(input, at: now, into: &effects)
        }
        for effect in effects { perform(effect) }
        if keeper.phase != .resting { restingSince = nil } else if restingSince == nil { restingSince = now }
    }

    private mutating func apply(_ input: CredentialKeeper.Input) {
        switch input {
        case .needed: neededAt = neededAt ?? now
        case .connected:
            isConnected = true
            pending.removeAll { $0.input == .disconnected }
            pending.append((now + seconds(1...3000), .disconnected))
        case .disconnected:
            isConnected = false
            pending.removeAll { $0.input == .connected }
            pending.append((now + seconds(0...30), .needed))
        default: break
        }
    }

    private mutating func perform(_ effect: CredentialKeeper.Effect) {
        switch effect {
        case .fetch(let fetch):
            guard Int.random(in: 0..<8, using: &random) > 0 else { return }  // The fetch never ends.
            let lifetimes = [nil, .seconds(-5), .zero, .milliseconds(1), seconds(1...40), seconds(40...7200)]
            let lifetime = lifetimes.randomElement(using: &random) ?? nil
            let succeeds = Int.random(in: 0..<4, using: &random) > 0
            let result: CredentialKeeper.Input =
                succeeds ? .provided(fetch: fetch, expiresIn: lifetime) : .failed(fetch: fetch, isRetryable: true)
            pending.append((now + seconds(0...40), result))
        case .cancelFetch: break  // The result may still arrive.
        case .ready:
            answer()
            attempts += 1
            pending.append((now + seconds(0...5), .connected))
        case .unavailable:
            answer()
            if !isConnected { pending.append((now + seconds(1...30), .needed)) }
        case .handOver: pending.append((now, .needed))
        }
    }

    private mutating func answer() {
        if let neededAt { longestWait = max(longestWait, now - neededAt) }
        neededAt = nil
    }
    private mutating func seconds(_ range: ClosedRange<Int>) -> Duration { .seconds(Int.random(in: range, using: &random)) }
}

/// A keeper, the number of running fetches, and whether an attempt waits.
private struct Audited: Machine, Hashable {
    enum Input: Hashable { case provided(Duration?), failed(isRetryable: Bool), late, other(CredentialKeeper.Input) }

    var machine = CredentialKeeper(policy: CredentialPolicy(timeout: .seconds(12)))
    var fetches = 0
    var isAwaited = false
    var wasAnsweredWithoutNeed = false
    var isConnected = false
    var isOver = false
    var deadline: Moment? { machine.deadline }

    mutating func handle(_ input: Input, at now: Moment, into effects: inout [CredentialKeeper.Effect]) {
        switch input {
        case .provided(let lifetime):
            guard fetches > 0 else { return }
            fetches -= 1
            machine.handle(.provided(fetch: machine.lastFetch, expiresIn: lifetime), at: now, into: &effects)
        case .failed(let isRetryable):
            guard fetches > 0 else { return }
            fetches -= 1
            machine.handle(.failed(fetch: machine.lastFetch, isRetryable: isRetryable), at: now, into: &effects)
        case .late: machine.handle(.provided(fetch: machine.lastFetch &- 1, expiresIn: nil), at: now, into: &effects)
        case .other(let input):
            switch input {
            case .needed: isAwaited = !isOver
            case .connected: isConnected = true
            case .disconnected: isConnected = false
            case .ended: (isOver, isAwaited) = (true, false)
            case .provided, .failed: break
            }
            machine.handle(input, at: now, into: &effects)
        }
        note(effects)
    }
    mutating func wake(at now: Moment, into effects: inout [CredentialKeeper.Effect]) {
        machine.wake(at: now, into: &effects)
        note(effects)
    }
    private mutating func note(_ effects: [CredentialKeeper.Effect]) {
        for effect in effects {
            switch effect {
            case .fetch: fetches += 1
            case .cancelFetch: fetches -= 1
            case .ready, .unavailable:
                wasAnsweredWithoutNeed = wasAnsweredWithoutNeed || !isAwaited
                isAwaited = false
            case .handOver: break
            }
        }
    }
}

extension CredentialKeeper {
    fileprivate var isNeeded: Bool { if case .fetching(_, let isNeeded) = phase { isNeeded } else { false } }
}
