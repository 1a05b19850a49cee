import HoldfastTesting
import MachineCore
import SessionCore
import Testing

@Suite struct CredentialKeeperTests {
    /// Some clients retry with the refused credential: convex-swift#16, apollo-ios#2675.
    @Test func `every attempt fetches its own credential`() {
        var keeper = Stepper(CredentialKeeper())
        #expect(keeper.handle(.needed, at: 0) == [.fetch(1)])
        #expect(keeper.handle(.provided(fetch: 1, expiresIn: .seconds(3600)), at: 1) == [.ready])
        #expect(keeper.handle(.needed, at: 2) == [.fetch(2)], "the first attempt failed, perhaps because the server refused the credential")
        #expect(keeper.handle(.provided(fetch: 2, expiresIn: nil), at: 3) == [.ready])
    }

    @Test func `concurrent requests share one fetch`() {
        var keeper = Stepper(CredentialKeeper())
        _ = keeper.handle(.needed, at: 0)
        #expect(keeper.handle(.needed, at: 1).isEmpty)
        #expect(keeper.handle(.needed, at: 2).isEmpty)
        #expect(keeper.handle(.provided(fetch: 1, expiresIn: nil), at: 3) == [.ready])
    }

    @Test(arguments: [true, false])
    func `the provider decides whether its failure is retryable`(isRetryable: Bool) {
        var keeper = Stepper(CredentialKeeper())
        _ = keeper.handle(.needed, at: 0)
        #expect(keeper.handle(.failed(fetch: 1, isRetryable: isRetryable), at: 1) == [.unavailable(isRetryable: isRetryable)])
        #expect(keeper.handle(.needed, at: 2) == [.fetch(2)], "another request starts a fetch")
    }

    @Test func `a fetch that takes too long fails with a retryable error`() {
        var keeper = Stepper(CredentialKeeper(policy: CredentialPolicy(timeout: .seconds(30))))
        _ = keeper.handle(.needed, at: 5)
        _ = keeper.handle(.needed, at: 20)
        #expect(keeper.wake(at: 34).isEmpty)
        #expect(keeper.wake(at: 35) == [.cancelFetch, .unavailable(isRetryable: true)])
        #expect(keeper.handle(.provided(fetch: 1, expiresIn: nil), at: 36).isEmpty, "after the timeout")
    }

    @Test func `results of older fetches are ignored`() {
        var keeper = Stepper(CredentialKeeper())
        _ = keeper.handle(.needed, at: 0)
        _ = keeper.wake(at: 30)
        _ = keeper.handle(.needed, at: 31)
        #expect(keeper.handle(.provided(fetch: 1, expiresIn: nil), at: 32).isEmpty)
        #expect(keeper.handle(.failed(fetch: 1, isRetryable: false), at: 32).isEmpty)
        #expect(keeper.handle(.provided(fetch: 2, expiresIn: nil), at: 33) == [.ready])
    }

    @Test func `an expired credential is still given to the attempt that needs it`() {
        var keeper = Stepper(CredentialKeeper())
        _ = keeper.handle(.needed, at: 0)
        #expect(keeper.handle(.provided(fetch: 1, expiresIn: .seconds(-60)), at: 1) == [.ready])
    }

    @Test func `while connected, the next credential is fetched before the expiry and starts a hand-over`() {
        var keeper = Stepper(CredentialKeeper.connected(life: .seconds(600)))
        #expect(keeper.wake(at: 569).isEmpty)
        #expect(keeper.wake(at: 570) == [.fetch(2)])
        #expect(keeper.handle(.provided(fetch: 2, expiresIn: .seconds(600)), at: 571) == [.handOver])
        #expect(keeper.handle(.needed, at: 572) == [.ready], "the credential was fetched for this attempt")
        #expect(keeper.handle(.connected, at: 573).isEmpty)
        #expect(keeper.machine.deadline == Moment(.seconds(571 + 570)))
        #expect(keeper.handle(.needed, at: 574) == [.fetch(3)], "the next attempt fetches its own")
    }

    @Test func `no credential is refreshed without a connection`() {
        var keeper = Stepper(CredentialKeeper())
        _ = keeper.handle(.needed, at: 0)
        _ = keeper.handle(.provided(fetch: 1, expiresIn: .seconds(600)), at: 0)
        #expect(keeper.machine.deadline == nil)
        _ = keeper.handle(.connected, at: 590)
        #expect(keeper.wake(at: 590) == [.fetch(2)], "the credential is refreshed at once if connecting took long")
        _ = keeper.handle(.provided(fetch: 2, expiresIn: .seconds(600)), at: 591)
        _ = keeper.handle(.disconnected, at: 592)
        #expect(keeper.machine.deadline == nil)
    }

    @Test(
        arguments: [
            (3600, 30, 3570_000), (300, 30, 270_000), (100, 30, 90_000), (60, 30, 54_000), (12, 30, 10_800), (3600, 5, 3595_000),
            // Too short for a hand-over, already expired, without expiry, or refresh disabled.
            (11, 30, nil), (1, 30, nil), (0, 30, nil), (-5, 30, nil), (nil, 30, nil), (3600, 0, nil), (3600, -1, nil),
        ] as [(Int?, Int, Int?)])
    func `a refresh starts before the expiry, by the policy or a tenth of the lifetime`(life: Int?, ahead: Int, expected: Int?) {
        let policy = CredentialPolicy(refreshAhead: .seconds(ahead))
        let keeper = CredentialKeeper.connected(life: life.map { .seconds($0) }, policy: policy)
        #expect(keeper.deadline == expected.map { Moment(.milliseconds($0)) })
    }

    @Test func `very long lifetimes do not overflow`() {
        let keeper = CredentialKeeper.connected(life: .seconds(Int64.max), policy: CredentialPolicy(refreshAhead: .seconds(Int64.max)))
        #expect(keeper.deadline.map { $0 > Moment(.seconds(1_000_000_000)) } ?? false)
    }

    @Test func `a failed refresh is repeated after half of the remaining time, and is not reported`() {
        var keeper = Stepper(CredentialKeeper.connected(life: .seconds(600)))
        _ = keeper.wake(at: 570)
        #expect(keeper.handle(.failed(fetch: 2, isRetryable: true), at: 570).isEmpty)
        #expect(keeper.wake(at: 584).isEmpty)
        #expect(keeper.wake(at: 585) == [.fetch(3)])
        #expect(keeper.handle(.failed(fetch: 3, isRetryable: true), at: 585).isEmpty)
        #expect(keeper.wake(at: 594).isEmpty, "at least after the pause")
        #expect(keeper.wake(at: 595) == [.fetch(4)])
        #expect(keeper.handle(.failed(fetch: 4, isRetryable: true), at: 595).isEmpty)
        #expect(keeper.machine.deadline == nil, "no retry after the expiry")
    }

    @Test func `a refresh that takes too long is cancelled and repeated`() {
        var keeper = Stepper(CredentialKeeper.connected(life: .seconds(600), policy: CredentialPolicy(timeout: .seconds(4))))
        _ = keeper.wake(at: 570)
        #expect(keeper.wake(at: 574) == [.cancelFetch])
        #expect(keeper.machine.deadline == Moment(.seconds(587)))
    }

    @Test func `a refresh with a final failure is not repeated until an attempt needs a credential`() {
        var keeper = Stepper(CredentialKeeper.connected(life: .seconds(600)))
        _ = keeper.wake(at: 570)
        #expect(keeper.handle(.failed(fetch: 2, isRetryable: false), at: 571).isEmpty)
        #expect(keeper.machine.deadline == nil)
        #expect(keeper.handle(.needed, at: 572) == [.fetch(3)])
    }

    @Test func `an attempt that starts during a refresh waits for it`() {
        var keeper = Stepper(CredentialKeeper.connected(life: .seconds(600)))
        _ = keeper.wake(at: 570)
        _ = keeper.handle(.disconnected, at: 571)
        #expect(keeper.handle(.needed, at: 571).isEmpty)
        #expect(keeper.handle(.provided(fetch: 2, expiresIn: .seconds(600)), at: 572) == [.ready])
        #expect(keeper.handle(.needed, at: 573) == [.fetch(3)])
    }

    @Test func `after an attempt without credential the old connection is still refreshed`() {
        var keeper = Stepper(CredentialKeeper.connected(life: .seconds(600)))
        _ = keeper.handle(.needed, at: 100)
        #expect(keeper.handle(.failed(fetch: 2, isRetryable: true), at: 100) == [.unavailable(isRetryable: true)])
        #expect(keeper.machine.deadline == Moment(.seconds(350)))
    }

    /// A provider with its own store returns the same credential until it expires.
    @Test func `the same credential again does not start a hand-over`() {
        var keeper = Stepper(CredentialKeeper.connected(life: .seconds(600)))
        _ = keeper.wake(at: 570)
        #expect(keeper.handle(.provided(fetch: 2, expiresIn: .seconds(38)), at: 571).isEmpty, "the lifetime grew by 9 s")
        #expect(keeper.wake(at: 586) == [.fetch(3)])
        #expect(keeper.handle(.provided(fetch: 3, expiresIn: .seconds(24)), at: 586) == [.handOver], "the lifetime grew by 10 s")
    }

    @Test func `an expired credential does not start a hand-over`() {
        var keeper = Stepper(CredentialKeeper.connected(life: .seconds(100)))
        _ = keeper.wake(at: 90)
        #expect(keeper.handle(.provided(fetch: 2, expiresIn: .zero), at: 119).isEmpty)
    }

    @Test func `a credential without expiry starts a hand-over and needs no refresh`() {
        var keeper = Stepper(CredentialKeeper.connected(life: .seconds(600)))
        _ = keeper.wake(at: 570)
        #expect(keeper.handle(.provided(fetch: 2, expiresIn: nil), at: 571) == [.handOver])
        #expect(keeper.machine.deadline == nil)
    }

    @Test func `a refreshed credential is not used after its expiry`() {
        var keeper = Stepper(CredentialKeeper.connected(life: .seconds(600)))
        _ = keeper.wake(at: 570)
        _ = keeper.handle(.provided(fetch: 2, expiresIn: .seconds(60)), at: 570)
        #expect(keeper.handle(.needed, at: 630) == [.fetch(3)])
    }

    @Test func `a refreshed credential is not used after the connection was lost`() {
        var refreshed = Stepper(CredentialKeeper.connected(life: .seconds(600)))
        _ = refreshed.wake(at: 570)
        var late = refreshed
        #expect(refreshed.handle(.provided(fetch: 2, expiresIn: .seconds(600)), at: 571) == [.handOver])
        _ = refreshed.handle(.disconnected, at: 572)
        #expect(refreshed.handle(.needed, at: 572) == [.fetch(3)])
        _ = late.handle(.disconnected, at: 571)
        #expect(late.handle(.provided(fetch: 2, expiresIn: .seconds(600)), at: 572).isEmpty, "no connection is left for a hand-over")
        #expect(late.handle(.needed, at: 573) == [.fetch(3)])
    }

    @Test func `a connection that replaces a lost one is refreshed too`() {
        var keeper = Stepper(CredentialKeeper.connected(life: .seconds(600)))
        _ = keeper.wake(at: 570)
        _ = keeper.handle(.provided(fetch: 2, expiresIn: .seconds(600)), at: 570)
        _ = keeper.handle(.needed, at: 570)
        _ = keeper.handle(.disconnected, at: 571)
        _ = keeper.handle(.connected, at: 572)
        #expect(keeper.machine.deadline == Moment(.seconds(1140)))
    }

    @Test func `the end cancels the running fetch, and nothing follows`() {
        var keeper = Stepper(CredentialKeeper())
        _ = keeper.handle(.needed, at: 0)
        #expect(keeper.handle(.ended, at: 1) == [.cancelFetch])
        #expect(keeper.machine.deadline == nil)
        for input in [.needed, .provided(fetch: 1, expiresIn: nil), .connected, .ended] as [CredentialKeeper.Input] {
            #expect(keeper.handle(input, at: 2).isEmpty)
        }
        var resting = Stepper(CredentialKeeper.connected(life: .seconds(600)))
        #expect(resting.handle(.ended, at: 1).isEmpty)
        #expect(resting.machine.deadline == nil)
    }
}

extension CredentialKeeper {
    /// A keeper that fetched its first credential and connected at the start.
    static func connected(life: Duration?, policy: CredentialPolicy = CredentialPolicy()) -> Self {
        var keeper = CredentialKeeper(policy: policy)
        var effects: [Effect] = []
        for input in [.needed, .provided(fetch: 1, expiresIn: life), .connected] as [Input] {
            keeper.handle(input, at: .start, into: &effects)
        }
        return keeper
    }
}
