import MachineCore
import SessionCore
import Testing

/// What the app requests of a reconnector: disconnect, connect again, retry now.
@Suite struct ReconnectorAppTests {
    private static let longBackoff = ReconnectPolicy(backoff: Backoff(base: .seconds(20), jitter: .proportional(0)))
    private static let manual = ReconnectPolicy(backoff: Backoff(jitter: .proportional(0)), isAutomatic: false)

    @Test func `the app's disconnect closes the connection, and its next start opens another`() {
        var session = Driven()
        session.connect(for: .seconds(60))
        #expect(session.handle(.disconnect) == [.disconnect(generation: 1), .report(.idle)])
        #expect(session.lose().isEmpty && session.handle(.networkReturned).isEmpty && session.wait == nil)
        #expect(session.handle(.disconnect).isEmpty)
        session.handle(.start)
        #expect(session.attempt?.generation == 2 && session.attempt?.number == 1)
    }

    @Test func `disconnect ends an attempt, a hand-over, a wait and a hold`() {
        var attempt = Driven()
        attempt.handle(.start)
        #expect(attempt.handle(.disconnect) == [.disconnect(generation: 1), .report(.idle)])

        var handOver = Driven()
        handOver.connect(for: .seconds(60))
        handOver.handle(.handOver)
        #expect(handOver.handle(.disconnect) == [.disconnect(generation: 2), .disconnect(generation: 1), .report(.idle)])

        var wait = Driven()
        wait.handle(.start)
        wait.lose()
        #expect(wait.handle(.disconnect) == [.report(.idle)])
        #expect(wait.wait == nil)

        var held = Driven()
        held.handle(.start)
        held.handle(.hold(keepingOpen: false))
        #expect(held.handle(.disconnect) == [.report(.idle)])
        #expect(held.handle(.release(fresh: true)).isEmpty)
    }

    @Test func `a hold also delays attempts that the app requests`() {
        var session = Driven()
        session.connect(for: .seconds(60))
        session.handle(.disconnect)
        session.handle(.hold(keepingOpen: true))
        #expect(session.handle(.start) == [.report(.held)])
        #expect(session.handle(.retryNow).isEmpty)
        session.handle(.release(fresh: true))
        #expect(session.attempt?.generation == 2)
    }

    @Test func `repeated connects and disconnects are spaced`() {
        var session = Driven()
        session.handle(.start)
        for _ in 0..<5 {
            session.handle(.disconnect)
            session.handle(.start)
            #expect(session.wait == .seconds(1))
        }
        session.wakeAtDeadline()
        #expect(session.attempt?.generation == 2)
    }

    @Test func `disconnect resets the failure count`() {
        var session = Driven(Self.longBackoff)
        session.handle(.start)
        session.lose()
        session.handle(.disconnect)
        session.pass(.seconds(2))
        session.handle(.start)
        #expect(session.attempt?.number == 1)
    }

    @Test func `retry now shortens a wait, at most once per second`() {
        var session = Driven(Self.longBackoff)
        session.handle(.start)
        session.lose()
        session.handle(.retryNow)
        #expect(session.wait == .seconds(1))
        session.wakeAtDeadline()
        #expect(session.attempt?.generation == 2 && session.attempt?.number == 2, "the attempt count continues")
        session.lose()
        session.pass(.seconds(3))
        session.handle(.retryNow)
        #expect(session.attempt?.generation == 3)
    }

    @Test func `retry now respects Retry-After`() {
        var session = Driven(Self.longBackoff)
        session.handle(.start)
        session.lose(.refused(status: 503), retryAfter: .seconds(9))
        session.handle(.retryNow)
        #expect(session.wait == .seconds(9))
    }

    @Test func `retry now starts an idle session, and does nothing in other phases`() {
        var session = Driven()
        session.handle(.retryNow)
        #expect(session.attempt?.generation == 1)
        #expect(session.handle(.retryNow).isEmpty)
        session.open()
        #expect(session.handle(.retryNow).isEmpty)
        session.pass(.seconds(60))
        session.handle(.handOver)
        #expect(session.handle(.retryNow).isEmpty)
        session.handle(.stop)
        #expect(session.handle(.retryNow).isEmpty && session.handle(.disconnect).isEmpty)
    }

    @Test func `without automatic reconnect a loss leads to idle, and the app starts again`() {
        var session = Driven(Self.manual)
        session.connect(for: .seconds(60))
        #expect(session.lose() == [.report(.idle)])
        session.handle(.start)
        #expect(session.lose(.unreachable) == [.report(.idle)])
        session.pass(.seconds(2))
        session.handle(.start)
        #expect(session.attempt?.number == 1)
    }

    @Test func `without automatic reconnect final losses stop the session, and Retry-After is respected`() {
        var session = Driven(Self.manual)
        session.handle(.start)
        session.lose(.refused(status: 503), retryAfter: .seconds(9))
        session.handle(.start)
        #expect(session.wait == .seconds(9))
        session.wakeAtDeadline()
        session.lose(.refused(status: 404))
        #expect(session.machine.phase == .stopped(.refused(Loss(.refused(status: 404)))))
    }
}
