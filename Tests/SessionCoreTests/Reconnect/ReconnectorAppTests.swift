import MachineCore
import SessionCore
import Testing

/// What the app asks of a reconnector by itself: to disconnect, to connect again, to try now.
@Suite struct ReconnectorAppTests {
    private static let patient = ReconnectPolicy(backoff: Backoff(base: .seconds(20), jitter: .proportional(0)))
    private static let byHand = ReconnectPolicy(backoff: Backoff(jitter: .proportional(0)), isAutomatic: false)

    @Test func `a connection that the app disconnects is closed, and another is made when the app says so`() {
        var session = Driven()
        session.connect(for: .seconds(60))
        #expect(session.handle(.disconnect) == [.disconnect(generation: 1), .report(.idle)])
        #expect(session.lose().isEmpty && session.handle(.networkReturned).isEmpty && session.wait == nil)
        #expect(session.handle(.disconnect).isEmpty)
        session.handle(.start)
        #expect(session.attempt?.generation == 2 && session.attempt?.number == 1)
    }

    @Test func `an attempt, a hand-over, a wait and a hold end with disconnect, too`() {
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

    @Test func `what holds attempts back holds back those that the app asks for`() {
        var session = Driven()
        session.connect(for: .seconds(60))
        session.handle(.disconnect)
        session.handle(.hold(keepingOpen: true))
        #expect(session.handle(.start) == [.report(.held)])
        #expect(session.handle(.retryNow).isEmpty)
        session.handle(.release(fresh: true))
        #expect(session.attempt?.generation == 2)
    }

    @Test func `connecting and disconnecting over and over is spaced`() {
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

    @Test func `disconnect forgives the failures before it`() {
        var session = Driven(Self.patient)
        session.handle(.start)
        session.lose()
        session.handle(.disconnect)
        session.pass(.seconds(2))
        session.handle(.start)
        #expect(session.attempt?.number == 1)
    }

    @Test func `trying now cuts a wait short, and only once a second`() {
        var session = Driven(Self.patient)
        session.handle(.start)
        session.lose()
        session.handle(.retryNow)
        #expect(session.wait == .seconds(1))
        session.wakeAtDeadline()
        #expect(session.attempt?.generation == 2 && session.attempt?.number == 2, "the count goes on")
        session.lose()
        session.pass(.seconds(3))
        session.handle(.retryNow)
        #expect(session.attempt?.generation == 3)
    }

    @Test func `trying now heeds what the server asked for`() {
        var session = Driven(Self.patient)
        session.handle(.start)
        session.lose(.refused(status: 503), retryAfter: .seconds(9))
        session.handle(.retryNow)
        #expect(session.wait == .seconds(9))
    }

    @Test func `trying now starts what rests, and leaves all else as it is`() {
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

    @Test func `without reconnecting a loss leads to rest, and the app tries again`() {
        var session = Driven(Self.byHand)
        session.connect(for: .seconds(60))
        #expect(session.lose() == [.report(.idle)])
        session.handle(.start)
        #expect(session.lose(.unreachable) == [.report(.idle)])
        session.pass(.seconds(2))
        session.handle(.start)
        #expect(session.attempt?.number == 1)
    }

    @Test func `without reconnecting what is final is the end, and Retry-After is kept`() {
        var session = Driven(Self.byHand)
        session.handle(.start)
        session.lose(.refused(status: 503), retryAfter: .seconds(9))
        session.handle(.start)
        #expect(session.wait == .seconds(9))
        session.wakeAtDeadline()
        session.lose(.refused(status: 404))
        #expect(session.machine.phase == .stopped(.refused(Loss(.refused(status: 404)))))
    }
}
