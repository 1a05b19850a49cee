import HoldfastTesting
import MachineCore
import SessionCore
import Testing
import WebSocketCore

@Suite struct ReconnectorTests {
    static let lost = Loss(isRetryable: true)

    @Test func `a lost link is retried after a growing delay`() throws {
        var session = Driven(ReconnectPolicy(backoff: Backoff(jitter: .proportional(0))))
        #expect(session.handle(.start) == [.connect(attempt: 1, generation: 1), .report(.connecting(attempt: 1))])
        var delays: [Duration] = []
        for generation in 1...8 as ClosedRange<UInt64> {
            _ = session.handle(.lost(generation: generation, Self.lost))
            delays.append(try #require(session.machine.deadline) - session.now)
            #expect(session.wakeAtDeadline().first == .connect(attempt: Int(generation) + 1, generation: generation + 1))
        }
        #expect(delays == [1, 2, 4, 8, 16, 30, 30, 30].map { .seconds($0) })
    }

    @Test func `a flapping link keeps its backoff, a stable one starts afresh`() {
        var session = Driven(ReconnectPolicy(stableAfter: .seconds(10)))
        _ = session.handle(.start)
        for generation in 1...5 as ClosedRange<UInt64> {
            _ = session.handle(.opened(generation: generation))
            session.pass(.seconds(9))
            _ = session.handle(.lost(generation: generation, Self.lost))
            #expect(session.waitingAttempt == Int(generation) + 1)
            _ = session.wakeAtDeadline()
        }
        _ = session.handle(.opened(generation: 6))
        session.pass(.seconds(10))
        _ = session.handle(.lost(generation: 6, Self.lost))
        #expect(session.waitingAttempt == 1)
    }

    /// The peers' pain 16: apollo-ios#1753, socket.io#1029.
    @Test func `two errors of one connection start one reconnect`() {
        var session = Driven()
        _ = session.handle(.start)
        _ = session.handle(.opened(generation: 1))
        #expect(session.handle(.lost(generation: 1, Self.lost)).count == 1)
        #expect(session.handle(.lost(generation: 1, Self.lost)).isEmpty)
        #expect(session.wakeAtDeadline().first == .connect(attempt: 2, generation: 2))
        #expect(session.handle(.lost(generation: 1, Loss(isRetryable: false))).isEmpty)
        #expect(session.handle(.opened(generation: 1)).isEmpty)
        #expect(session.machine.phase == .connecting(attempt: 2))
    }

    /// The peers' pain 19: centrifuge#106.
    @Test func `a returned network ends a long wait at once and starts the count afresh`() {
        var session = Driven()
        _ = session.handle(.start)
        for generation in 1...7 as ClosedRange<UInt64> {
            _ = session.handle(.lost(generation: generation, Self.lost))
            _ = session.wakeAtDeadline()
        }
        _ = session.handle(.lost(generation: 8, Self.lost))
        #expect(session.handle(.networkReturned).first == .connect(attempt: 1, generation: 9))
        #expect(session.handle(.networkReturned).isEmpty)
    }

    @Test func `a loss that no retry can mend is the end`() {
        var session = Driven()
        let loss = Loss(isRetryable: false, code: .policyViolation)
        _ = session.handle(.start)
        #expect(session.handle(.lost(generation: 1, loss)) == [.report(.stopped(.refused(loss)))])
    }

    @Test func `the last attempt's failure is the end`() {
        var session = Driven(ReconnectPolicy(maximumAttempts: 2))
        _ = session.handle(.start)
        _ = session.handle(.lost(generation: 1, Self.lost))
        _ = session.wakeAtDeadline()
        #expect(session.handle(.lost(generation: 2, Self.lost)) == [.report(.stopped(.exhausted(Self.lost)))])
    }

    @Test func `whatever happens, one connection at most, and nothing after stop`() {
        let losses = [Self.lost, Loss(isRetryable: false)]
        let inputs: [Reconnector.Input] =
            [.start, .networkReturned, .stop]
            + (1...3 as ClosedRange<UInt64>).flatMap { generation -> [Reconnector.Input] in
                [.opened(generation: generation)] + losses.map { .lost(generation: generation, $0) }
            }
        let states = explore(Audited(), inputs: inputs, depth: 9) { step in
            let (before, after) = (step.before, step.after)
            #expect((0...1).contains(after.live), "\(step)")
            #expect(after.machine.generation - before.machine.generation <= 1, "\(step)")
            if case .stopped = before.machine.phase { #expect(step.effects.isEmpty && after.machine == before.machine, "\(step)") }
            if case .stopped = after.machine.phase { #expect(after.deadline == nil && after.live == 0, "\(step)") }
            if case .waiting(let until, _) = after.machine.phase { #expect(after.deadline == until, "\(step)") }
            let reports = step.effects.compactMap { if case .report(let phase) = $0 { phase } else { nil } }
            let changes = before.machine.phase == after.machine.phase ? [] : [after.machine.phase]
            #expect(reports == changes, "every change is told once: \(step)")
        }
        #expect(states > 150)
    }
}

/// A reconnector that counts the connections it has open or under way.
private struct Audited: Machine, Hashable {
    var machine = Reconnector(policy: ReconnectPolicy(maximumAttempts: 3, stableAfter: .seconds(2)), seed: 1)
    var live = 0
    var deadline: Moment? { machine.deadline }

    mutating func handle(_ input: Reconnector.Input, at now: Moment, into effects: inout [Reconnector.Effect]) {
        // The newest connection is gone for good once lost, whether or not the machine cares.
        if case .lost(machine.generation, _) = input, live > 0 { live -= 1 }
        machine.handle(input, at: now, into: &effects)
        count(effects)
    }
    mutating func wake(at now: Moment, into effects: inout [Reconnector.Effect]) {
        machine.wake(at: now, into: &effects)
        count(effects)
    }
    private mutating func count(_ effects: [Reconnector.Effect]) {
        for effect in effects {
            switch effect {
            case .connect: live += 1
            case .disconnect: live -= 1
            case .report: break
            }
        }
    }
}

/// A reconnector with its effects handed back one call at a time.
private struct Driven {
    private(set) var machine: Reconnector
    private(set) var now = Moment.start

    init(_ policy: ReconnectPolicy = ReconnectPolicy()) { machine = Reconnector(policy: policy, seed: 7) }

    var waitingAttempt: Int? { if case .waiting(_, let attempt) = machine.phase { attempt } else { nil } }

    mutating func pass(_ time: Duration) { now = now + time }
    mutating func handle(_ input: Reconnector.Input) -> [Reconnector.Effect] {
        var effects: [Reconnector.Effect] = []
        machine.handle(input, at: now, into: &effects)
        return effects
    }
    mutating func wakeAtDeadline() -> [Reconnector.Effect] {
        var effects: [Reconnector.Effect] = []
        now = machine.deadline ?? now
        machine.wake(at: now, into: &effects)
        return effects
    }
}
