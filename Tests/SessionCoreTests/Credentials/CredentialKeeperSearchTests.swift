import HoldfastTesting
import MachineCore
import SessionCore
import Testing

@Suite struct CredentialKeeperSearchTests {
    @Test func `whatever happens, one fetch at a time, every need is answered once, and nothing comes after the end`() {
        let lives: [Duration?] = [.seconds(20), .zero, nil]
        let inputs: [Audited.Input] =
            [.late] + lives.map { .provided($0) } + [true, false].map { .failed(isRetryable: $0) }
            + [.needed, .connected, .disconnected, .ended].map { .other($0) }
        let states = explore(Audited(), inputs: inputs, depth: 9, tick: .seconds(6)) { step in
            let (before, after) = (step.before, step.after)
            #expect((0...1).contains(after.fetches), "\(step)")
            #expect(after.isAwaited == after.machine.isNeeded, "a need is answered when its fetch ends, and no sooner: \(step)")
            #expect(!after.wasAnsweredUnasked, "\(step)")
            if step.input == .late { #expect(step.effects.isEmpty && after == before, "\(step)") }
            if step.effects.contains(.handOver) { #expect(before.isConnected && !before.isAwaited, "\(step)") }
            if before.isOver { #expect(step.effects.isEmpty && after.machine == before.machine, "\(step)") }
            if after.isOver { #expect(after.deadline == nil && after.fetches == 0, "\(step)") }
            if after.fetches == 1 { #expect(after.deadline != nil, "no fetch runs for ever: \(step)") }
            guard step.input == nil else { return }
            if case .fetch? = step.effects.first { #expect(before.isConnected, "\(step)") }
            if let deadline = before.deadline, step.now >= deadline {
                #expect(!step.effects.isEmpty && after.deadline ?? .distantFuture > step.now, "time moves on: \(step)")
            } else {
                #expect(step.effects.isEmpty && after == before, "waking early is harmless: \(step)")
            }
        }
        #expect(states > 1000)
    }

    /// A provider with any lives, delays and failures, under a session that loses its connection now and then.
    @Test(arguments: 1...100 as ClosedRange<UInt64>)
    func `a day with a whimsical provider has no busy hour, and no attempt waits beyond the timeout`(seed: UInt64) {
        var day = Day(seed: seed)
        while day.now < Moment(.seconds(86_400)) { day.step() }
        #expect(day.longestWait <= CredentialPolicy().timeout)
        #expect(day.shortestPause >= CredentialKeeper.pause, "between fetches that nobody waits for")
        #expect(day.attempts > 10)
    }
}

/// A keeper between a session and a provider that draw what they do.
private struct Day {
    var random: SeededGenerator
    var keeper = CredentialKeeper()
    var now = Moment.start
    /// When the next thing happens beside the keeper's deadline.
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
                Issue.record("nothing will ever happen again")
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
            guard Int.random(in: 0..<8, using: &random) > 0 else { return }  // It hangs.
            let lives = [nil, .seconds(-5), .zero, .milliseconds(1), seconds(1...40), seconds(40...7200)]
            let life = lives.randomElement(using: &random) ?? nil
            let isFine = Int.random(in: 0..<4, using: &random) > 0
            let news: CredentialKeeper.Input = isFine ? .provided(fetch: fetch, expiresIn: life) : .failed(fetch: fetch, isRetryable: true)
            pending.append((now + seconds(0...40), news))
        case .cancelFetch: break  // Its news may still come.
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

/// A keeper with the fetches that run, and whether an attempt waits.
private struct Audited: Machine, Hashable {
    enum Input: Hashable { case provided(Duration?), failed(isRetryable: Bool), late, other(CredentialKeeper.Input) }

    var machine = CredentialKeeper(policy: CredentialPolicy(timeout: .seconds(12)))
    var fetches = 0
    var isAwaited = false
    var wasAnsweredUnasked = false
    var isConnected = false
    var isOver = false
    var deadline: Moment? { machine.deadline }

    mutating func handle(_ input: Input, at now: Moment, into effects: inout [CredentialKeeper.Effect]) {
        switch input {
        case .provided(let life):
            guard fetches > 0 else { return }
            fetches -= 1
            machine.handle(.provided(fetch: machine.lastFetch, expiresIn: life), at: now, into: &effects)
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
                wasAnsweredUnasked = wasAnsweredUnasked || !isAwaited
                isAwaited = false
            case .handOver: break
            }
        }
    }
}

extension CredentialKeeper {
    fileprivate var isNeeded: Bool { if case .fetching(_, let isNeeded) = phase { isNeeded } else { false } }
}
