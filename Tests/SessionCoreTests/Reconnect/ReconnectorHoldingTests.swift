import MachineCore
import SessionCore
import Testing
import WebSocketCore

/// The network returns, and the app enters background and foreground.
@Suite struct ReconnectorHoldingTests {
    /// A session that waits for 30 s after many failures.
    private func waitingLong(_ retryAfter: Duration? = nil) -> Driven {
        var session = Driven()
        session.handle(.start)
        for _ in 1...7 {
            session.lose()
            session.wakeAtDeadline()
        }
        session.pass(.seconds(2))
        session.lose(.refused(status: 503), retryAfter: retryAfter)
        return session
    }

    /// Some clients wait out their backoff although the network is back: centrifuge#106.
    @Test func `a returned network ends a long wait at once and resets the count`() {
        var session = waitingLong()
        #expect(session.wait == .seconds(30))
        session.handle(.networkReturned)
        #expect(session.attempt?.number == 1 && session.attempt?.generation == 9)
        #expect(session.handle(.networkReturned).isEmpty)
    }

    @Test func `a network that flaps starts at most one attempt per second`() {
        var session = Driven()
        session.handle(.start)
        var attempts = 1
        for _ in 1...1000 {
            session.lose(.unreachable)
            session.handle(.networkReturned)
            #expect(session.wait ?? .zero <= .seconds(1))
            session.pass(.milliseconds(10))
            if !session.wake().isEmpty { attempts += 1 }
        }
        #expect(attempts == 11, "in 10 s")
    }

    @Test func `a network that returns during an attempt resets the count of earlier failures`() {
        var session = waitingLong()
        session.wakeAtDeadline()
        #expect(session.attempt?.number == 9)
        session.handle(.networkReturned)
        session.lose()
        #expect(session.waitingAttempt == 2)
    }

    @Test func `neither a returned network nor a fresh release shortens a Retry-After`() {
        var session = waitingLong(.seconds(120))
        session.handle(.networkReturned)
        #expect(session.wait == .seconds(120) && session.waitingAttempt == 1)
        session.handle(.hold(keepingOpen: false))
        session.pass(.seconds(20))
        session.handle(.release(fresh: true))
        #expect(session.wait == .seconds(100))
    }

    @Test func `no attempt starts while held`() {
        var session = waitingLong()
        #expect(session.handle(.hold(keepingOpen: true)) == [.report(.held)])
        #expect(session.machine.deadline == nil)
        session.pass(.seconds(3600))
        #expect(session.wake().isEmpty && session.handle(.networkReturned).isEmpty && session.handle(.handOver).isEmpty)
    }

    @Test func `a fresh release connects at once and resets the count`() {
        var session = waitingLong()
        session.handle(.hold(keepingOpen: false))
        session.handle(.release(fresh: true))
        #expect(session.attempt?.number == 1)
    }

    @Test func `another release resumes the wait`() {
        var session = waitingLong()
        session.handle(.hold(keepingOpen: false))
        session.pass(.seconds(20))
        session.handle(.release(fresh: false))
        #expect(session.wait == .seconds(10) && session.waitingAttempt == 9)
        session.handle(.hold(keepingOpen: false))
        session.pass(.seconds(20))
        session.handle(.release(fresh: false))
        #expect(session.attempt?.number == 9)
    }

    @Test func `a start while held waits for the release`() {
        var session = Driven()
        session.handle(.hold(keepingOpen: true))
        #expect(session.handle(.start) == [.report(.held)])
        session.handle(.release(fresh: false))
        #expect(session.attempt?.generation == 1)
    }

    @Test func `a hold ends the running attempt, which does not count as a failure`() {
        var session = Driven()
        session.handle(.start)
        #expect(session.handle(.hold(keepingOpen: true)) == [.disconnect(generation: 1), .report(.held)])
        #expect(session.lose().isEmpty, "the loss is reported late")
        session.pass(.seconds(5))
        session.handle(.release(fresh: false))
        #expect(session.attempt?.number == 1 && session.attempt?.generation == 2)
    }

    @Test func `an app that changes between background and foreground starts at most one attempt per second`() {
        var session = Driven()
        session.handle(.start)
        for _ in 1...1000 {
            session.handle(.hold(keepingOpen: false))
            session.handle(.release(fresh: true))
            session.pass(.milliseconds(10))
            session.wake()
        }
        #expect(session.machine.generation == 11)
    }

    @Test func `a hold that keeps open connections lets the connection serve until it is lost`() {
        var session = Driven()
        session.connect(for: .seconds(60))
        #expect(session.handle(.hold(keepingOpen: true)).isEmpty)
        #expect(session.isConnected && session.machine.isHeld)
        #expect(session.lose() == [.report(.held)])
        session.handle(.release(fresh: false))
        #expect(session.wait == .seconds(1))
    }

    @Test func `a hold that is released before the loss has no effect`() {
        var session = Driven()
        session.connect(for: .seconds(60))
        session.handle(.hold(keepingOpen: true))
        #expect(session.handle(.release(fresh: true)).isEmpty)
        session.lose()
        #expect(session.waitingAttempt == 1)
    }

    @Test func `another hold closes the connection, even after a hold that kept it`() {
        var session = Driven()
        session.connect(for: .seconds(60))
        session.handle(.hold(keepingOpen: true))
        #expect(session.handle(.hold(keepingOpen: false)) == [.disconnect(generation: 1), .report(.held)])
    }

    @Test func `a connection that a hold ended counts by its duration`() {
        for (life, number) in [(Duration.seconds(9), 2), (.seconds(10), 1)] {
            var session = Driven()
            session.handle(.start)
            session.lose()
            session.wakeAtDeadline()
            session.open()
            session.pass(life)
            session.handle(.hold(keepingOpen: false))
            session.handle(.release(fresh: false))
            #expect(session.attempt?.number == number)
        }
    }

    @Test func `a connection that becomes stable during a hand-over counts as stable`() {
        var session = Driven()
        session.handle(.start)
        session.lose()
        session.wakeAtDeadline()
        session.open()
        session.pass(.seconds(9))
        session.handle(.handOver)
        session.pass(.seconds(1))
        session.handle(.hold(keepingOpen: false))
        session.handle(.release(fresh: false))
        #expect(session.attempt?.number == 1)
    }

    @Test func `a final loss stops the session, held or not`() {
        var session = Driven()
        session.connect(for: .seconds(60))
        session.handle(.hold(keepingOpen: true))
        session.lose(.closed(.normal))
        #expect(session.machine.phase == .stopped(.refused(Loss(.closed(.normal)))))
    }

    @Test func `stop ends a held session`() {
        var session = waitingLong()
        session.handle(.hold(keepingOpen: false))
        #expect(session.handle(.stop) == [.report(.stopped(.asked))])
        #expect(session.handle(.release(fresh: true)).isEmpty)
    }
}
