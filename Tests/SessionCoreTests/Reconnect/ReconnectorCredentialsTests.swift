import MachineCore
import SessionCore
import Testing
import WebSocketCore

/// Some clients retry with the refused credential: convex-swift#16, apollo-ios#2675.
@Suite struct ReconnectorCredentialsTests {
    private static let refusals: [LossCause] = [.refused(status: 401), .closed(.policyViolation), .closed(CloseCode(rawValue: 3000))]

    @Test(arguments: refusals)
    func `refused credentials are refreshed for the next attempt only`(cause: LossCause) {
        var session = Driven(hasCredentials: true)
        session.handle(.start)
        session.lose(cause)
        #expect(session.wait == .seconds(1), "the attempt waits first")
        session.wakeAtDeadline()
        #expect(session.attempt?.refreshesCredentials == true)
        session.open()
        session.lose()
        session.wakeAtDeadline()
        #expect(session.attempt?.refreshesCredentials == false)
    }

    @Test(arguments: refusals)
    func `a second refusal in a row stops the session`(cause: LossCause) {
        var session = Driven(hasCredentials: true)
        session.handle(.start)
        session.lose(cause)
        session.wakeAtDeadline()
        session.lose(cause)
        #expect(session.machine.phase == .stopped(.refused(Loss(cause))))
    }

    @Test func `a second refusal stops the session also if the server opens the connections first`() {
        var session = Driven(hasCredentials: true)
        session.connect(for: .seconds(1))
        session.lose(.closed(.policyViolation))
        session.wakeAtDeadline()
        #expect(session.attempt?.refreshesCredentials == true)
        session.open()
        session.pass(.seconds(1))
        session.lose(.closed(.policyViolation))
        #expect(session.machine.phase == .stopped(.refused(Loss(.closed(.policyViolation)))))
    }

    @Test func `credentials that expire after long connections are refreshed each time`() {
        var session = Driven(hasCredentials: true)
        session.connect(for: .seconds(3600))
        for _ in 1...5 {
            session.lose(.closed(.policyViolation))
            #expect(session.waitingAttempt == 1)
            session.wakeAtDeadline()
            #expect(session.attempt?.refreshesCredentials == true)
            session.open()
            session.pass(.seconds(3600))
        }
    }

    @Test func `another failure after the refresh does not count as an answer to the new credentials`() {
        var session = Driven(hasCredentials: true)
        session.handle(.start)
        session.lose(.refused(status: 401))
        session.wakeAtDeadline()
        session.lose(.unreachable)
        session.wakeAtDeadline()
        #expect(session.attempt?.refreshesCredentials == true)
        session.lose(.refused(status: 401))
        #expect(session.machine.phase == .stopped(.refused(Loss(.refused(status: 401)))))
    }

    @Test(arguments: refusals)
    func `without a credential provider a refusal stops the session`(cause: LossCause) {
        var session = Driven(hasCredentials: false)
        session.handle(.start)
        session.lose(cause)
        #expect(session.machine.phase == .stopped(.refused(Loss(cause))))
    }

    @Test func `the provider decides whether its failure is retried`() {
        var (passing, fatal) = (Driven(hasCredentials: true), Driven(hasCredentials: true))
        passing.handle(.start)
        passing.lose(.credentials(isRetryable: true))
        #expect(passing.waitingAttempt == 2)
        fatal.handle(.start)
        fatal.lose(.credentials(isRetryable: false))
        #expect(fatal.machine.phase == .stopped(.refused(Loss(.credentials(isRetryable: false)))))
    }

    @Test(arguments: [.refused(status: 401), .credentials(isRetryable: true)] as [LossCause])
    func `credential failures do not change the endpoint`(cause: LossCause) {
        var session = Driven(endpoints: 2, hasCredentials: true)
        session.handle(.start)
        session.lose(cause)
        session.wakeAtDeadline()
        #expect(session.attempt?.endpoint == 0)
    }
}
