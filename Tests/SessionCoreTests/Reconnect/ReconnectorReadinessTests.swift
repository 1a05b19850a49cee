import MachineCore
import SessionCore
import Testing
import WebSocketCore

/// A protocol reports which connections are ready and which it rejects.
@Suite struct ReconnectorReadinessTests {
    private var session = Driven()

    private mutating func start() {
        session.handle(.awaitReadiness(true))
        session.handle(.start)
        session.open()
    }
    private mutating func becomeReady() { session.handle(.ready(generation: session.machine.generation)) }
    private mutating func reject() { session.handle(.rejected(generation: session.machine.generation)) }

    @Test mutating func `a connection that never becomes ready is a failure, however long it lasts`() {
        start()
        for wait in [1, 2, 4, 8] {
            session.pass(.seconds(3600))
            session.lose()
            #expect(session.wait == .seconds(wait))
            session.wakeAtDeadline()
            session.open()
        }
    }

    @Test mutating func `a ready connection is stable at once`() {
        start()
        for _ in 0..<5 {
            becomeReady()
            session.lose()
            #expect(session.wait == .seconds(1) && session.waitingAttempt == 1)
            session.wakeAtDeadline()
            session.open()
        }
    }

    @Test mutating func `a rejected connection is a failure, also if it was ready`() {
        start()
        for number in 2...5 {
            becomeReady()
            reject()
            becomeReady()
            session.lose()
            #expect(session.waitingAttempt == number)
            session.wakeAtDeadline()
            session.open()
        }
    }

    @Test mutating func `readiness that is reported after the loss shortens the wait`() {
        start()
        for _ in 0..<3 {
            session.lose()
            session.wakeAtDeadline()
            session.open()
        }
        session.pass(.seconds(60))
        session.lose()
        #expect(session.wait == .seconds(8) && session.waitingAttempt == 5)
        becomeReady()
        #expect(session.wait == .seconds(1) && session.waitingAttempt == 1)
    }

    @Test mutating func `a rejection that is reported after the loss lengthens the wait`() {
        start()
        session.lose()
        session.wakeAtDeadline()
        session.open()
        becomeReady()
        session.pass(.seconds(5))
        session.lose()
        #expect(session.wait == .seconds(1))
        reject()
        #expect(session.wait == .seconds(2) && session.waitingAttempt == 3)
    }

    @Test(arguments: [true, false]) func `a connection that was ready for long and is then rejected starts a new count`(isLate: Bool) {
        var session = Driven()
        session.handle(.awaitReadiness(true))
        session.handle(.start)
        session.open()
        for _ in 0..<3 {
            session.lose()
            session.wakeAtDeadline()
            session.open()
        }
        session.handle(.ready(generation: session.machine.generation))
        session.pass(.seconds(10))
        if isLate { session.lose() }
        session.handle(.rejected(generation: session.machine.generation))
        if !isLate { session.lose() }
        #expect(session.wait == .seconds(1) && session.waitingAttempt == 2)
    }

    @Test func `a second refusal in a row stops the session, also if the connection was ready`() {
        var session = Driven(hasCredentials: true)
        session.handle(.awaitReadiness(true))
        session.handle(.start)
        for isLast in [false, true] {
            session.open()
            session.handle(.ready(generation: session.machine.generation))
            session.lose(.closed(.policyViolation))
            if !isLast { session.wakeAtDeadline() }
        }
        guard case .stopped(.refused) = session.machine.phase else { return #expect(Bool(false), "\(session.machine.phase)") }
    }

    @Test mutating func `a connection that was never ready and is rejected after its loss counts once`() {
        start()
        session.lose()
        session.pass(.milliseconds(500))
        #expect(session.wait == .milliseconds(500))
        reject()
        #expect(session.wait == .milliseconds(500) && session.waitingAttempt == 2)
    }

    @Test mutating func `the last late report counts`() {
        start()
        session.pass(.seconds(60))
        session.lose()
        becomeReady()
        #expect(session.waitingAttempt == 1)
        reject()
        #expect(session.waitingAttempt == 2)
        becomeReady()
        #expect(session.waitingAttempt == 2, "a rejected connection does not become ready again")
    }

    @Test mutating func `a late rejection does not undo the reset by the returned network`() {
        start()
        becomeReady()
        session.lose()
        session.handle(.networkReturned)
        let (wait, attempt) = (session.wait, session.waitingAttempt)
        #expect(attempt == 1)
        reject()
        #expect(session.wait == wait && session.waitingAttempt == 1)
    }

    @Test mutating func `reports about older connections change nothing`() {
        start()
        session.lose()
        session.wakeAtDeadline()
        session.open()
        session.lose()
        let wait = session.wait
        session.handle(.ready(generation: 1))
        #expect(session.wait == wait && session.waitingAttempt == 3)
    }

    @Test mutating func `without a protocol the duration decides again`() {
        start()
        session.handle(.awaitReadiness(false))
        session.pass(.seconds(10))
        session.lose()
        #expect(session.waitingAttempt == 1)
    }
}
