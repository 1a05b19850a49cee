import MachineCore
import SessionCore
import Testing
import WebSocketCore

/// The peers' pain 17: convex-swift#16, apollo-ios#2675.
@Suite struct ReconnectorCredentialsTests {
    private static let refusals: [LossCause] = [.refused(status: 401), .closed(.policyViolation), .closed(CloseCode(rawValue: 3000))]

    @Test(arguments: refusals)
    func `refused credentials are made new for the next attempt, and for that one only`(cause: LossCause) {
        var session = Driven(hasCredentials: true)
        session.handle(.start)
        session.lose(cause)
        #expect(session.wait == .seconds(1), "not without a wait")
        session.wakeAtDeadline()
        #expect(session.attempt?.refreshesCredentials == true)
        session.open()
        session.lose()
        session.wakeAtDeadline()
        #expect(session.attempt?.refreshesCredentials == false)
    }

    @Test(arguments: refusals)
    func `credentials that are new and refused again are the end`(cause: LossCause) {
        var session = Driven(hasCredentials: true)
        session.handle(.start)
        session.lose(cause)
        session.wakeAtDeadline()
        session.lose(cause)
        #expect(session.machine.phase == .stopped(.refused(Loss(cause))))
    }

    @Test func `a server that opens first and refuses then ends it as well`() {
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

    @Test func `credentials that served and expired are made new each time`() {
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

    @Test func `an attempt that failed some other way says nothing about the new credentials`() {
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
    func `without credentials to make new, a refusal is the end`(cause: LossCause) {
        var session = Driven(hasCredentials: false)
        session.handle(.start)
        session.lose(cause)
        #expect(session.machine.phase == .stopped(.refused(Loss(cause))))
    }

    @Test func `a provider that fails is retried or final by its own word`() {
        var (passing, fatal) = (Driven(hasCredentials: true), Driven(hasCredentials: true))
        passing.handle(.start)
        passing.lose(.credentials(isRetryable: true))
        #expect(passing.waitingAttempt == 2)
        fatal.handle(.start)
        fatal.lose(.credentials(isRetryable: false))
        #expect(fatal.machine.phase == .stopped(.refused(Loss(.credentials(isRetryable: false)))))
    }

    @Test(arguments: [.refused(status: 401), .credentials(isRetryable: true)] as [LossCause])
    func `credentials are no reason to leave an endpoint`(cause: LossCause) {
        var session = Driven(endpoints: 2, hasCredentials: true)
        session.handle(.start)
        session.lose(cause)
        session.wakeAtDeadline()
        #expect(session.attempt?.endpoint == 0)
    }
}
