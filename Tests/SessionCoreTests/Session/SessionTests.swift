import MachineCore
import SessionCore
import Testing

/// How the parts of a session work together.
@Suite struct SessionTests {
    /// A session and the time in whole seconds.
    private struct Life {
        var session: Stepper<Session>
        var second = 0

        @discardableResult mutating func feed(_ input: Session.Input) -> [Session.Effect] { session.handle(input, at: second) }

        @discardableResult mutating func pass(_ seconds: Int) -> [Session.Effect] {
            second += seconds
            return session.wake(at: second)
        }
    }
    private static let home = NetworkPath(.wifi, interface: "en0")

    private func started(hasCredentials: Bool = false, _ configure: (inout SessionPolicy) -> Void = { _ in }) -> Life {
        var policy = SessionPolicy()
        policy.reconnect.backoff = Backoff(base: .seconds(1), jitter: .proportional(0))
        configure(&policy)
        var session = Life(session: Stepper(Session(policy: policy, hasCredentials: hasCredentials, seed: 1)))
        session.feed(.start)
        return session
    }

    private func connected(_ configure: (inout SessionPolicy) -> Void = { _ in }) -> Life {
        var session = started(configure)
        session.feed(.opened(generation: 1))
        return session
    }

    private func attempt(_ effects: [Session.Effect]) -> UInt64? {
        for case .connect(let attempt) in effects { return attempt.generation }
        return nil
    }

    @Test func `an attempt waits for its credential`() {
        var session = Life(session: Stepper(Session(hasCredentials: true, seed: 1)))
        let first = session.feed(.start)
        #expect(first.contains(.fetchCredential(1)) && attempt(first) == nil)
        #expect(attempt(session.feed(.credentialProvided(fetch: 1, expiresIn: nil))) == 1)
    }

    @Test func `disconnect cancels an attempt that waits for its credential`() {
        var session = started(hasCredentials: true)
        #expect(session.feed(.disconnect) == [.report(.idle)])
        #expect(attempt(session.feed(.credentialProvided(fetch: 1, expiresIn: nil))) == nil)
        session.pass(2)
        #expect(session.feed(.start).contains(.fetchCredential(2)))
    }

    @Test func `a disconnected session stays so when app and network change`() {
        var session = connected()
        #expect(session.feed(.disconnect).contains(.disconnect(generation: 1, .asked)))
        for input: Session.Input in [
            .life(.background), .life(.foreground), .path(.unsatisfied), .path(.satisfied(Self.home)), .lost(generation: 1, Loss(.lost)),
        ] { #expect(attempt(session.feed(input)) == nil) }
        session.pass(3600)
        #expect(attempt(session.feed(.start)) == 2)
    }

    @Test func `reconnect now probes an open connection`() {
        var session = connected()
        #expect(session.feed(.reconnectNow) == [.probe(generation: 1)])
        session.pass(1)
        session.feed(.lost(generation: 1, Loss(.unresponsive)))
        session.pass(0)
        #expect(attempt(session.feed(.reconnectNow)) ?? session.session.machine.phase.runningAttempt == 2)
    }

    @Test func `waiting messages stay while the app is disconnected`() {
        var session = connected()
        session.feed(.disconnect)
        session.feed(.submit(id: 1, lane: .normal, byteCount: 1, patience: nil))
        session.pass(2)
        session.feed(.start)
        #expect(session.feed(.opened(generation: 2)).contains(.transmit(1, generation: 2)))
    }

    @Test func `a retryable provider failure is a lost attempt, and a final one stops the session`() {
        var session = started(hasCredentials: true)
        let failed = session.feed(.credentialFailed(fetch: 1, isRetryable: true))
        #expect(failed.contains { if case .report(.waiting) = $0 { true } else { false } })
        session.pass(2)
        let over = session.feed(.credentialFailed(fetch: 2, isRetryable: false))
        #expect(over.contains(.report(.stopped(.refused(Loss(.credentials(isRetryable: false)))))))
    }

    @Test func `an attempt that is held before its credential arrives does not start when it arrives`() {
        var session = started(hasCredentials: true)
        let held = session.feed(.path(.unsatisfied))
        #expect(held.contains(.report(.held)))
        #expect(attempt(session.feed(.credentialProvided(fetch: 1, expiresIn: nil))) == nil)
    }

    @Test func `attempts start only after all holds are released`() {
        var session = connected { $0.background = .close(after: .zero) }
        #expect(session.feed(.life(.background)).contains(.disconnect(generation: 1, .goingAway)))
        session.feed(.path(.unsatisfied))
        session.pass(5)
        #expect(attempt(session.feed(.life(.foreground))) == nil)
        #expect(attempt(session.feed(.path(.satisfied(Self.home)))) == 2)
    }

    @Test func `a lost network keeps the connection and probes it, and suspension closes it`() {
        var session = connected()
        #expect(session.feed(.path(.unsatisfied)) == [.probe(generation: 1)])
        #expect(session.feed(.life(.suspended)).prefix(2) == [.abandon, .disconnect(generation: 1, .goingAway)])
    }

    @Test func `an expiring credential causes a hand-over`() {
        var session = started(hasCredentials: true)
        session.feed(.credentialProvided(fetch: 1, expiresIn: .seconds(1000)))
        session.feed(.opened(generation: 1))
        #expect(session.pass(970).contains(.fetchCredential(2)))
        #expect(attempt(session.feed(.credentialProvided(fetch: 2, expiresIn: .seconds(1000)))) == 2)
        #expect(session.feed(.opened(generation: 2)).contains(.retire(generation: 1)))
        #expect(session.feed(.lost(generation: 1, Loss(.lost))).isEmpty)
    }

    @Test func `only an open connection is probed`() {
        var session = started()
        #expect(session.feed(.path(.notViable)).isEmpty)
        session.feed(.opened(generation: 1))
        #expect(session.feed(.path(.notViable)) == [.probe(generation: 1)])
    }

    @Test func `after the end nothing happens`() {
        var session = started(hasCredentials: true)
        let end = session.feed(.close)
        #expect(end.contains(.cancelFetch(isLate: false)) && end.last == .report(.stopped(.asked)))
        for input: Session.Input in [
            .start, .close, .opened(generation: 1), .lost(generation: 1, Loss(.lost)), .credentialProvided(fetch: 1, expiresIn: nil),
            .life(.suspended), .path(.unsatisfied), .path(.notViable),
        ] { #expect(session.feed(input).isEmpty) }
        #expect(session.session.machine.deadline == nil)
    }
}

extension Reconnector.Phase {
    /// The generation of the running attempt.
    fileprivate var runningAttempt: UInt64? { if case .connecting(let attempt) = self { attempt.generation } else { nil } }
}
