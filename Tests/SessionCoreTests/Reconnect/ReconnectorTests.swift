import HoldfastTesting
import MachineCore
import SessionCore
import Testing
import WebSocketCore

/// Losses, waits, limits and endpoints.
@Suite struct ReconnectorTests {
    @Test func `a lost connection is retried after a growing delay`() throws {
        var session = Driven()
        let first = session.handle(.start)
        let attempt = try #require(session.attempt)
        #expect(first == [.connect(attempt), .report(.connecting(attempt))])
        #expect(attempt.number == 1 && attempt.generation == 1 && attempt.endpoint == 0 && !attempt.refreshesCredentials)
        var delays: [Duration] = []
        for generation in 2...9 as ClosedRange<UInt64> {
            session.lose()
            delays.append(try #require(session.wait))
            session.wakeAtDeadline()
            #expect(session.attempt?.generation == generation && session.attempt?.number == Int(generation))
        }
        #expect(delays == [1, 2, 4, 8, 16, 30, 30, 30].map { .seconds($0) })
    }

    @Test func `the first wait is the base, after a failed first attempt as after a stable or unstable connection`() {
        var (failing, lasting, flapping) = (Driven(), Driven(), Driven())
        failing.handle(.start)
        lasting.connect(for: .seconds(10))
        flapping.connect(for: .seconds(9))
        func waits(_ session: inout Driven) -> [Duration?] {
            (1...4).map { _ in
                session.lose()
                defer { session.wakeAtDeadline() }
                return session.wait
            }
        }
        let doubling: [Duration?] = [.seconds(1), .seconds(2), .seconds(4), .seconds(8)]
        #expect(waits(&failing) == doubling && waits(&lasting) == doubling && waits(&flapping) == doubling)
        lasting.open()
        lasting.pass(.seconds(10))
        #expect(waits(&lasting) == doubling, "the waits start again")
    }

    @Test func `every reset of the count also resets the waits`() {
        let resets: [(inout Driven) -> Void] = [
            { $0.handle(.networkReturned) },
            {
                $0.handle(.disconnect)
                $0.handle(.start)
            },
            {
                $0.handle(.hold(keepingOpen: false))
                $0.handle(.release(fresh: true))
            },
        ]
        for reset in resets {
            var session = Driven()
            session.handle(.start)
            for _ in 1...4 {
                session.lose()
                session.wakeAtDeadline()
            }
            session.pass(.seconds(2))
            reset(&session)
            session.wakeAtDeadline()
            session.lose()
            #expect(session.wait == .seconds(1))
        }
    }

    @Test func `an unstable old connection in a hand-over makes the next wait longer`() {
        var session = Driven()
        session.connect(for: .seconds(5))
        session.handle(.handOver)
        session.handle(.lost(generation: 1, Loss(.lost)))
        session.lose()
        #expect(session.wait == .seconds(2))
    }

    @Test func `an unstable connection keeps its backoff, and a stable one resets it`() {
        var session = Driven(ReconnectPolicy(stableAfter: .seconds(10)))
        session.handle(.start)
        for number in 2...6 {
            session.open()
            session.pass(.milliseconds(9_999))
            session.lose()
            #expect(session.waitingAttempt == number)
            session.wakeAtDeadline()
        }
        session.open()
        session.pass(.seconds(10))
        session.lose()
        #expect(session.waitingAttempt == 1)
    }

    /// Some clients start two reconnects: apollo-ios#1753, socket.io#1029.
    @Test func `two errors of one connection start one reconnect`() throws {
        var session = Driven()
        session.connect(for: .seconds(1))
        #expect(session.handle(.lost(generation: 1, Loss(.lost))).count == 1)
        #expect(session.handle(.lost(generation: 1, Loss(.lost))).isEmpty)
        session.wakeAtDeadline()
        let attempt = try #require(session.attempt)
        #expect(attempt.generation == 2)
        #expect(session.handle(.lost(generation: 1, Loss(.tls))).isEmpty)
        #expect(session.handle(.opened(generation: 1)).isEmpty)
        #expect(session.machine.phase == .connecting(attempt))
    }

    @Test func `two attempts never start within the spacing, however short the wait`() {
        var session = Driven(ReconnectPolicy(backoff: Backoff(base: .zero, minimum: .zero), spacing: .seconds(1)))
        session.handle(.start)
        session.pass(.milliseconds(300))
        session.lose()
        #expect(session.wait == .milliseconds(700))
    }

    @Test func `many clients that are refused at once do not return together after the spacing`() {
        let waits = (1...100 as ClosedRange<UInt64>).compactMap { seed -> Duration? in
            var (session, effects) = (Reconnector(seed: seed), [Reconnector.Effect]())
            session.handle(.start, at: .start, into: &effects)
            session.handle(.lost(generation: 1, Loss(.unreachable)), at: .start, into: &effects)
            return session.deadline?.offset
        }
        #expect(Set(waits).count > 90)
        #expect(waits.allSatisfy { $0 >= .seconds(1) && $0 <= .seconds(2) })
    }

    @Test func `no wait exceeds the limit, although spacing and backoff add up`() {
        var session = Driven(
            ReconnectPolicy(
                backoff: Backoff(base: .seconds(8), cap: .seconds(8), jitter: .proportional(0)), spacing: .seconds(9),
                longestRetryAfter: .zero))
        session.handle(.start)
        session.lose()
        #expect(session.wait == .seconds(9))
    }

    @Test func `without any wait the next attempt starts at once`() {
        var session = Driven(ReconnectPolicy(backoff: Backoff(base: .zero, minimum: .zero), spacing: .zero))
        session.handle(.start)
        session.lose()
        #expect(session.attempt?.number == 2)
    }

    @Test func `a final loss stops the session`() {
        var session = Driven()
        session.handle(.start)
        #expect(session.lose(.refused(status: 403)) == [.report(.stopped(.refused(Loss(.refused(status: 403)))))])
    }

    @Test func `a peer's close with 1000 stops the session, unless the policy says otherwise`() {
        var (session, retrying) = (Driven(), Driven())
        var policy = ReconnectPolicy()
        policy.losses[.closed(.normal)] = .retry
        retrying = Driven(policy)
        session.connect(for: .seconds(60))
        retrying.connect(for: .seconds(60))
        session.lose(.closed(.normal))
        retrying.lose(.closed(.normal))
        #expect(session.machine.phase == .stopped(.refused(Loss(.closed(.normal)))))
        #expect(retrying.waitingAttempt == 1)
    }

    @Test func `the failure of the last attempt stops the session`() {
        var session = Driven(ReconnectPolicy(maximumAttempts: 2))
        session.handle(.start)
        session.lose()
        session.wakeAtDeadline()
        #expect(session.lose(.timedOut) == [.report(.stopped(.exhausted(Loss(.timedOut))))])
    }

    @Test func `a stable connection resets the number of attempts`() {
        var session = Driven(ReconnectPolicy(maximumAttempts: 2))
        session.handle(.start)
        session.lose()
        session.wakeAtDeadline()
        session.open()
        session.pass(.seconds(10))
        session.lose()
        session.wakeAtDeadline()
        session.lose()
        #expect(session.waitingAttempt == 2)
    }

    @Test func `without attempts the first loss stops the session, even after a stable connection`() {
        var session = Driven(ReconnectPolicy(maximumAttempts: 0))
        session.connect(for: .seconds(60))
        session.lose()
        #expect(session.machine.phase == .stopped(.exhausted(Loss(.lost))))
    }

    @Test func `stop ends an attempt, a connection and a wait once`() {
        var (connecting, connected, waiting) = (Driven(), Driven(), Driven())
        connecting.handle(.start)
        connected.connect(for: .zero)
        waiting.handle(.start)
        waiting.lose()
        #expect(connecting.handle(.stop) == [.disconnect(generation: 1), .report(.stopped(.asked))])
        #expect(connected.handle(.stop) == [.disconnect(generation: 1), .report(.stopped(.asked))])
        #expect(waiting.handle(.stop) == [.report(.stopped(.asked))] && waiting.machine.deadline == nil)
        #expect(waiting.handle(.stop).isEmpty && waiting.handle(.start).isEmpty)
    }

    @Test func `each failure moves to the next endpoint in turn`() {
        var session = Driven(endpoints: 3)
        session.handle(.start)
        var endpoints: [Int] = []
        for _ in 1...7 {
            endpoints.append(session.attempt?.endpoint ?? -1)
            session.lose(.unreachable)
            session.wakeAtDeadline()
        }
        #expect(endpoints == [0, 1, 2, 0, 1, 2, 0])
    }

    @Test func `the session returns to a stable endpoint and leaves an unstable one`() {
        var session = Driven(endpoints: 2)
        session.connect(for: .seconds(10))
        session.lose()
        session.wakeAtDeadline()
        #expect(session.attempt?.endpoint == 0)
        session.open()
        session.pass(.seconds(9))
        session.lose()
        session.wakeAtDeadline()
        #expect(session.attempt?.endpoint == 1)
    }

    @Test func `a Retry-After is the minimum wait`() {
        var session = Driven()
        session.handle(.start)
        session.lose(.refused(status: 503), retryAfter: .seconds(120))
        #expect(session.wait == .seconds(120))
        session.wakeAtDeadline()
        session.lose(.refused(status: 503), retryAfter: .milliseconds(1))
        #expect(session.wait == .seconds(2), "a short one does not shorten the wait")
    }

    @Test func `a very long Retry-After is limited`() {
        var session = Driven(ReconnectPolicy(longestRetryAfter: .seconds(60)))
        session.handle(.start)
        session.lose(.refused(status: 503), retryAfter: .seconds(Int64.max))
        #expect(session.wait == .seconds(60))
    }

    @Test func `a Retry-After of one endpoint does not delay attempts to the others`() {
        var session = Driven(endpoints: 3)
        session.handle(.start)
        session.lose(.refused(status: 503), retryAfter: .seconds(120))
        #expect(session.wait == .seconds(1))
        var endpoints: [Int] = []
        while session.now < Moment(.seconds(119)) {
            session.wakeAtDeadline()
            endpoints.append(session.attempt?.endpoint ?? -1)
            session.lose(.unreachable)
        }
        #expect(endpoints.prefix(5) == [1, 2, 1, 2, 1])
        #expect(session.now >= Moment(.seconds(119)) && !endpoints.dropLast().contains(0))
        for _ in 1...3 {
            session.wakeAtDeadline()
            endpoints.append(session.attempt?.endpoint ?? -1)
            session.lose(.unreachable)
        }
        #expect(endpoints.suffix(3).contains(0), "it is tried again")
    }

    @Test func `extreme policies neither trap nor loop`() {
        for extreme in [.zero, .seconds(-5), .seconds(Int64.max / 4)] as [Duration] {
            var policy = ReconnectPolicy(backoff: Backoff(base: extreme, cap: extreme, minimum: extreme), maximumAttempts: .max)
            (policy.stableAfter, policy.spacing, policy.longestRetryAfter) = (extreme, extreme, extreme)
            var session = Driven(policy, endpoints: -3)
            session.connect(for: .seconds(1))
            for _ in 1...5 {
                session.lose(.refused(status: 503), retryAfter: .seconds(Int64.max))
                #expect(session.wait ?? .zero <= policy.longestWait)
                session.wakeAtDeadline()
                #expect(session.attempt?.endpoint == 0)
            }
        }
    }
}
