import HoldfastTesting
import MachineCore
import SessionCore
import Testing
import WebSocketCore

/// Random events of the network, the server, the app and the credentials for hours.
@Suite struct ReconnectorStormTests {
    private static let causes: [LossCause] = [
        .lost, .unresponsive, .timedOut, .unreachable, .refused(status: 503), .refused(status: 401), .closed(.goingAway),
        .closed(.policyViolation), .credentials(isRetryable: true),
    ]

    private func input(using random: inout SeededGenerator) -> AuditedReconnector.Input {
        let patience = Int.random(in: 0..<4, using: &random) == 0 ? Duration.seconds(Int64.random(in: 0...900, using: &random)) : nil
        let loss = Loss(Self.causes.randomElement(using: &random) ?? .lost, retryAfter: patience)
        return switch Int.random(in: 0..<16, using: &random) {
        case 0: .machine(.networkReturned)
        case 1: .machine(.hold(keepingOpen: .random(using: &random)))
        case 2, 3: .machine(.release(fresh: .random(using: &random)))
        case 4: .machine(.handOver)
        case 5...8: .newestOpens
        case 9: .olderOpens
        case 10: .olderIsLost(loss)
        default: .newestIsLost(loss)
        }
    }

    @Test(arguments: 1...100 as ClosedRange<UInt64>)
    func `random events break no invariant, and after them an answering server is reached in time`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var policy = ReconnectPolicy(stableAfter: .seconds(5), longestRetryAfter: .seconds(60))
        for cause in Self.causes where policy.losses[cause] == .refreshCredentials && seed % 2 == 0 { policy.losses[cause] = .retry }
        var (session, now, attempts) = (AuditedReconnector(policy, endpoints: 3, hasCredentials: true, seed: seed), Moment.start, 0)
        func apply(_ input: AuditedReconnector.Input?) {
            let before = session
            var effects: [Reconnector.Effect] = []
            if let input { session.handle(input, at: now, into: &effects) } else { session.wake(at: now, into: &effects) }
            attempts += effects.count { if case .connect = $0 { true } else { false } }
            expectPromises(
                before, input, effects, session, at: now, "seed \(seed), \(now.offset): \(input.map { "\($0)" } ?? "time passed")")
        }
        apply(.machine(.start))
        for _ in 1...3000 {
            let next = now + .milliseconds(Int64.random(in: 0...4000, using: &random) * Int64.random(in: 0...1, using: &random))
            while let deadline = session.deadline, deadline <= next {
                now = deadline
                apply(nil)
            }
            now = next
            apply(input(using: &random))
        }
        #expect(Duration.seconds(1) * (attempts - 1) <= now.offset, "random events start no busy loop")

        if case .stopped = session.machine.phase { return #expect(seed % 2 == 1, "only two refusals in a row stop the session") }
        let quietSince = now
        apply(.machine(.release(fresh: true)))
        apply(.machine(.networkReturned))
        while session.live.isEmpty, let deadline = session.deadline {
            now = deadline
            apply(nil)
        }
        apply(.newestOpens)
        guard case .connected = session.machine.phase else { return #expect(Bool(false), "seed \(seed): not connected") }
        #expect(now - quietSince <= policy.longestWait)
    }
}
