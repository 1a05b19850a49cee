import HoldfastTesting
import MachineCore
import SessionCore
import Testing
import WebSocketCore

/// The invariants of `expectPromises` hold in every sequence of events.
@Suite struct ReconnectorExplorationTests {
    private static let inputs: [AuditedReconnector.Input] =
        ([
            .start, .networkReturned, .hold(keepingOpen: true), .hold(keepingOpen: false), .release(fresh: true), .release(fresh: false),
            .handOver, .disconnect, .retryNow,
        ]
        as [Reconnector.Input]).map { .machine($0) }
        + [.newestOpens, .olderOpens, .olderIsLost(Loss(.lost)), .newestIsLost(Loss(.lost)), .newestIsLost(Loss(.refused(status: 401)))]
        + [.newestIsLost(Loss(.refused(status: 503), retryAfter: .seconds(9))), .newestIsLost(Loss(.tls)), .machine(.stop)]

    @Test(arguments: [true, false])
    func `the invariants hold on every reachable edge`(isAutomatic: Bool) {
        let policy = ReconnectPolicy(
            backoff: Backoff(base: .seconds(1), cap: .seconds(2), jitter: .proportional(0)), maximumAttempts: 3, stableAfter: .seconds(2),
            spacing: .seconds(2), longestRetryAfter: .seconds(3), isAutomatic: isAutomatic)
        let states = explore(AuditedReconnector(policy, endpoints: 2, hasCredentials: true), inputs: Self.inputs, depth: 9) { step in
            expectPromises(step.before, step.input, step.effects, step.after, at: step.now, "\(step)")
        }
        #expect(states > (isAutomatic ? 7000 : 1000))
    }

    @Test func `the invariants hold on every reachable edge if a protocol reports readiness`() {
        let policy = ReconnectPolicy(
            backoff: Backoff(base: .seconds(1), cap: .seconds(2), jitter: .proportional(0)), maximumAttempts: 3, spacing: .seconds(2))
        let inputs: [AuditedReconnector.Input] = [
            .machine(.start), .machine(.awaitReadiness(true)), .machine(.handOver), .machine(.hold(keepingOpen: false)),
            .machine(.release(fresh: false)), .machine(.awaitReadiness(false)), .newestOpens, .newestIsLost(Loss(.lost)), .newestIsReady,
            .newestIsRejected, .olderIsReady,
        ]
        let states = explore(AuditedReconnector(policy, endpoints: 1, hasCredentials: false), inputs: inputs, depth: 9) { step in
            expectPromises(step.before, step.input, step.effects, step.after, at: step.now, "\(step)")
        }
        #expect(states > 3000)
    }
}
