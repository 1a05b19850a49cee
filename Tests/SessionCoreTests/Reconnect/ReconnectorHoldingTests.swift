import MachineCore
import SessionCore
import Testing
import WebSocketCore

/// The network's return, and the app between background and foreground.
@Suite struct ReconnectorHoldingTests {
    /// A session that waits half a minute after seven failures.
    private func inLongWait(_ retryAfter: Duration? = nil) -> Driven {
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

    /// The peers' pain 19: centrifuge#106.
    @Test func `a returned network ends a long wait at once and starts the count afresh`() {
        var session = inLongWait()
        #expect(session.wait == .seconds(30))
        session.handle(.networkReturned)
        #expect(session.attempt?.number == 1 && session.attempt?.generation == 9)
        #expect(session.handle(.networkReturned).isEmpty)
    }

    @Test func `a network that returns again and again starts no more than an attempt per second`() {
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

    @Test func `a network that returns during an attempt forgives what failed before it`() {
        var session = inLongWait()
        session.wakeAtDeadline()
        #expect(session.attempt?.number == 9)
        session.handle(.networkReturned)
        session.lose()
        #expect(session.waitingAttempt == 2)
    }

    @Test func `neither a returned network nor a fresh release cuts a Retry-After short`() {
        var session = inLongWait(.seconds(120))
        session.handle(.networkReturned)
        #expect(session.wait == .seconds(120) && session.waitingAttempt == 1)
        session.handle(.hold(keepingOpen: false))
        session.pass(.seconds(20))
        session.handle(.release(fresh: true))
        #expect(session.wait == .seconds(100))
    }

    @Test func `nothing is tried while held`() {
        var session = inLongWait()
        #expect(session.handle(.hold(keepingOpen: true)) == [.report(.held)])
        #expect(session.machine.deadline == nil)
        session.pass(.seconds(3600))
        #expect(session.wake().isEmpty && session.handle(.networkReturned).isEmpty && session.handle(.handOver).isEmpty)
    }

    @Test func `a fresh release connects at once and forgives what failed`() {
        var session = inLongWait()
        session.handle(.hold(keepingOpen: false))
        session.handle(.release(fresh: true))
        #expect(session.attempt?.number == 1)
    }

    @Test func `any other release resumes the wait where it would have been`() {
        var session = inLongWait()
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

    @Test func `a hold gives up the attempt under way, which is no failure`() {
        var session = Driven()
        session.handle(.start)
        #expect(session.handle(.hold(keepingOpen: true)) == [.disconnect(generation: 1), .report(.held)])
        #expect(session.lose().isEmpty, "the news of its end comes late")
        session.pass(.seconds(5))
        session.handle(.release(fresh: false))
        #expect(session.attempt?.number == 1 && session.attempt?.generation == 2)
    }

    @Test func `an app that flits in and out of the background starts no more than an attempt per second`() {
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

    @Test func `a hold that keeps what is open lets it serve until it is lost`() {
        var session = Driven()
        session.connect(for: .seconds(60))
        #expect(session.handle(.hold(keepingOpen: true)).isEmpty)
        #expect(session.isConnected && session.machine.isHeld)
        #expect(session.lose() == [.report(.held)])
        session.handle(.release(fresh: false))
        #expect(session.wait == .seconds(1))
    }

    @Test func `a hold lifted before the loss leaves no trace`() {
        var session = Driven()
        session.connect(for: .seconds(60))
        session.handle(.hold(keepingOpen: true))
        #expect(session.handle(.release(fresh: true)).isEmpty)
        session.lose()
        #expect(session.waitingAttempt == 1)
    }

    @Test func `any other hold closes what is open, even if an earlier one kept it`() {
        var session = Driven()
        session.connect(for: .seconds(60))
        session.handle(.hold(keepingOpen: true))
        #expect(session.handle(.hold(keepingOpen: false)) == [.disconnect(generation: 1), .report(.held)])
    }

    @Test func `a connection given up for a hold counts by how long it had lasted`() {
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

    @Test func `a connection that comes to last while it is handed over counts as one that lasted`() {
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

    @Test func `a loss that no retry can mend is the end, held or not`() {
        var session = Driven()
        session.connect(for: .seconds(60))
        session.handle(.hold(keepingOpen: true))
        session.lose(.closed(.normal))
        #expect(session.machine.phase == .stopped(.refused(Loss(.closed(.normal)))))
    }

    @Test func `stop ends what is held`() {
        var session = inLongWait()
        session.handle(.hold(keepingOpen: false))
        #expect(session.handle(.stop) == [.report(.stopped(.asked))])
        #expect(session.handle(.release(fresh: true)).isEmpty)
    }
}
