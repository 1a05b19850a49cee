import MachineCore
import SessionCore
import Testing
import WebSocketCore

/// Make before break: the old connection serves until the new one does.
@Suite struct ReconnectorHandOverTests {
    /// The first connection has lasted a minute, and the second is on its way.
    private func handingOver(endpoints: Int = 1) -> Driven {
        var session = Driven(endpoints: endpoints, hasCredentials: true)
        session.connect(for: .seconds(60))
        session.handle(.handOver)
        return session
    }

    @Test func `the old one is closed after the new one has opened`() throws {
        var session = handingOver()
        let attempt = try #require(session.attempt)
        #expect(attempt.generation == 2 && attempt.number == 1 && !attempt.refreshesCredentials)
        #expect(session.open() == [.report(.connected(attempt, since: session.now)), .retire(generation: 1)])
        #expect(session.handle(.lost(generation: 1, Loss(.closed(.normal, by: .local)))).isEmpty)
    }

    @Test(arguments: [.timedOut, .refused(status: 403), .refused(status: 401)] as [LossCause])
    func `a new one that fails leaves the old one in place, whatever the verdict`(cause: LossCause) {
        var session = handingOver()
        session.lose(cause)
        #expect(session.isConnected)
        #expect(session.handle(.opened(generation: 2)).isEmpty)
        session.handle(.lost(generation: 1, Loss(.lost)))
        #expect(session.waitingAttempt == 1, "and is no failure of the old one")
    }

    @Test func `the old one's loss makes the new one a plain attempt`() throws {
        var session = handingOver()
        let attempt = try #require(session.attempt)
        #expect(session.handle(.lost(generation: 1, Loss(.closed(CloseCode(rawValue: 4001))))) == [.report(.connecting(attempt))])
        #expect(session.open() == [.report(.connected(attempt, since: session.now))])
    }

    @Test func `both lost, the session waits as after any failure`() {
        var session = handingOver()
        session.handle(.lost(generation: 1, Loss(.lost)))
        session.lose()
        #expect(session.waitingAttempt == 2)
    }

    @Test func `a connection that lasted gives its successor a fresh count`() {
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

    @Test func `an old one that flapped counts as a failure`() {
        var session = Driven()
        session.connect(for: .seconds(5))
        session.handle(.handOver)
        session.handle(.lost(generation: 1, Loss(.lost)))
        session.lose()
        #expect(session.waitingAttempt == 3)
    }

    @Test func `hand-overs are spaced like all attempts`() {
        var session = Driven()
        session.connect(for: .milliseconds(200))
        #expect(session.handle(.handOver).isEmpty && session.handle(.handOver).isEmpty)
        #expect(session.wait == .milliseconds(800))
        session.wakeAtDeadline()
        #expect(session.attempt?.generation == 2)
    }

    @Test func `a hand-over that was asked for once happens once`() {
        var (succeeding, failing) = (handingOver(), handingOver())
        succeeding.open()
        failing.lose(.timedOut)
        #expect(succeeding.machine.deadline == nil && failing.machine.deadline == nil)
    }

    @Test func `a hand-over still to come is forgotten with the loss of the connection`() {
        var session = Driven()
        session.connect(for: .milliseconds(200))
        session.handle(.handOver)
        session.lose()
        session.wakeAtDeadline()
        session.open()
        #expect(session.machine.deadline == nil)
    }

    @Test func `a refusal of the new one's credentials makes the next attempt ask for others`() {
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

    @Test func `a Retry-After that the new one met is heeded by the next`() {
        var session = handingOver()
        session.lose(.refused(status: 503), retryAfter: .seconds(120))
        session.handle(.handOver)
        #expect(session.wait == .seconds(120))
        session.handle(.lost(generation: 1, Loss(.lost)))
        #expect(session.wait == .seconds(120))
    }

    @Test func `a new one that fails is no reason to leave the endpoint`() {
        var session = handingOver(endpoints: 2)
        session.lose(.timedOut)
        session.pass(.seconds(60))
        session.handle(.handOver)
        #expect(session.attempt?.endpoint == 0)
    }

    @Test func `a hold gives up the new one, and the old one unless it keeps what is open`() {
        var (kept, closed) = (handingOver(), handingOver())
        #expect(kept.handle(.hold(keepingOpen: true)).first == .disconnect(generation: 2))
        #expect(kept.isConnected)
        #expect(
            closed.handle(.hold(keepingOpen: false)) == [.disconnect(generation: 2), .disconnect(generation: 1), .report(.held)])
    }

    @Test func `while held, nothing is handed over`() {
        var session = Driven()
        session.connect(for: .milliseconds(200))
        session.handle(.handOver)
        session.handle(.hold(keepingOpen: true))
        #expect(session.handle(.handOver).isEmpty && session.machine.deadline == nil)
    }

    @Test func `stop ends both`() {
        var session = handingOver()
        #expect(session.handle(.stop) == [.disconnect(generation: 2), .disconnect(generation: 1), .report(.stopped(.asked))])
    }

    @Test func `without a connection there is nothing to hand over`() {
        var session = Driven()
        #expect(session.handle(.handOver).isEmpty)
        session.handle(.start)
        #expect(session.handle(.handOver).isEmpty)
        session.lose()
        #expect(session.handle(.handOver).isEmpty)
    }
}
