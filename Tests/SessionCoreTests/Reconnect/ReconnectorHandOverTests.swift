import MachineCore
import SessionCore
import Testing
import WebSocketCore

/// A hand-over: the old connection serves until the new one is open.
@Suite struct ReconnectorHandOverTests {
    /// A session that was connected for a minute and has started a hand-over.
    private func handingOver(endpoints: Int = 1) -> Driven {
        var session = Driven(endpoints: endpoints, hasCredentials: true)
        session.connect(for: .seconds(60))
        session.handle(.handOver)
        return session
    }

    @Test func `the old connection is closed after the new one has opened`() throws {
        var session = handingOver()
        let attempt = try #require(session.attempt)
        #expect(attempt.generation == 2 && attempt.number == 1 && !attempt.refreshesCredentials)
        #expect(session.open() == [.report(.connected(attempt, since: session.now)), .retire(generation: 1)])
        #expect(session.handle(.lost(generation: 1, Loss(.closed(.normal, by: .local)))).isEmpty)
    }

    @Test(arguments: [.timedOut, .refused(status: 403), .refused(status: 401)] as [LossCause])
    func `a new connection that fails leaves the old one in place for every cause`(cause: LossCause) {
        var session = handingOver()
        session.lose(cause)
        #expect(session.isConnected)
        #expect(session.handle(.opened(generation: 2)).isEmpty)
        session.handle(.lost(generation: 1, Loss(.lost)))
        #expect(session.waitingAttempt == 1, "and does not count as a failure of the old one")
    }

    @Test func `the loss of the old connection makes the new one a normal attempt`() throws {
        var session = handingOver()
        let attempt = try #require(session.attempt)
        #expect(session.handle(.lost(generation: 1, Loss(.closed(CloseCode(rawValue: 4001))))) == [.report(.connecting(attempt))])
        #expect(session.open() == [.report(.connected(attempt, since: session.now))])
    }

    @Test func `after both connections are lost the session waits as after any failure`() {
        var session = handingOver()
        session.handle(.lost(generation: 1, Loss(.lost)))
        session.lose()
        #expect(session.waitingAttempt == 2)
    }

    @Test func `after a stable connection the hand-over starts with attempt 1`() {
        var session = Driven()
        session.handle(.start)
        for _ in 1...3 {
            session.lose()
            session.wakeAtDeadline()
        }
        session.open()
        session.pass(.seconds(10))
        session.handle(.handOver)
        #expect(session.attempt?.number == 1)
        session.open()
        session.lose()
        #expect(session.waitingAttempt == 2)
    }

    @Test func `an old connection that was unstable counts as a failure`() {
        var session = Driven()
        session.connect(for: .seconds(5))
        session.handle(.handOver)
        session.handle(.lost(generation: 1, Loss(.lost)))
        session.lose()
        #expect(session.waitingAttempt == 3)
    }

    @Test func `hand-overs are spaced like other attempts`() {
        var session = Driven()
        session.connect(for: .milliseconds(200))
        #expect(session.handle(.handOver).isEmpty && session.handle(.handOver).isEmpty)
        #expect(session.wait == .milliseconds(800))
        session.wakeAtDeadline()
        #expect(session.attempt?.generation == 2)
    }

    @Test func `one request causes one hand-over`() {
        var (succeeding, failing) = (handingOver(), handingOver())
        succeeding.open()
        failing.lose(.timedOut)
        #expect(succeeding.machine.deadline == nil && failing.machine.deadline == nil)
    }

    @Test func `a pending hand-over is dropped when the connection is lost`() {
        var session = Driven()
        session.connect(for: .milliseconds(200))
        session.handle(.handOver)
        session.lose()
        session.wakeAtDeadline()
        session.open()
        #expect(session.machine.deadline == nil)
    }

    @Test func `refused credentials of the new connection are refreshed for the next attempt`() {
        var session = handingOver()
        session.lose(.refused(status: 401))
        session.pass(.seconds(60))
        session.handle(.handOver)
        #expect(session.attempt?.refreshesCredentials == true)
        session.open()
        session.pass(.seconds(60))
        session.handle(.handOver)
        #expect(session.attempt?.refreshesCredentials == false)
    }

    @Test func `the next attempt respects the Retry-After that the new connection got`() {
        var session = handingOver()
        session.lose(.refused(status: 503), retryAfter: .seconds(120))
        session.handle(.handOver)
        #expect(session.wait == .seconds(120))
        session.handle(.lost(generation: 1, Loss(.lost)))
        #expect(session.wait == .seconds(120))
    }

    @Test func `a new connection that fails does not change the endpoint`() {
        var session = handingOver(endpoints: 2)
        session.lose(.timedOut)
        session.pass(.seconds(60))
        session.handle(.handOver)
        #expect(session.attempt?.endpoint == 0)
    }

    @Test func `a hold ends the new connection, and the old one unless it keeps open connections`() {
        var (kept, closed) = (handingOver(), handingOver())
        #expect(kept.handle(.hold(keepingOpen: true)).first == .disconnect(generation: 2))
        #expect(kept.isConnected)
        #expect(
            closed.handle(.hold(keepingOpen: false)) == [.disconnect(generation: 2), .disconnect(generation: 1), .report(.held)])
    }

    @Test func `no hand-over starts while held`() {
        var session = Driven()
        session.connect(for: .milliseconds(200))
        session.handle(.handOver)
        session.handle(.hold(keepingOpen: true))
        #expect(session.handle(.handOver).isEmpty && session.machine.deadline == nil)
    }

    @Test func `stop ends both connections`() {
        var session = handingOver()
        #expect(session.handle(.stop) == [.disconnect(generation: 2), .disconnect(generation: 1), .report(.stopped(.asked))])
    }

    @Test func `without a connection a hand-over does nothing`() {
        var session = Driven()
        #expect(session.handle(.handOver).isEmpty)
        session.handle(.start)
        #expect(session.handle(.handOver).isEmpty)
        session.lose()
        #expect(session.handle(.handOver).isEmpty)
    }
}
