import HoldfastTesting
import MachineCore
import SessionCore
import Testing

@Suite struct CredentialKeeperTests {
    /// The peers' pain 17: convex-swift#16, apollo-ios#2675.
    @Test func `every attempt waits for a credential of its own`() {
        var keeper = Stepper(CredentialKeeper())
        #expect(keeper.handle(.needed, at: 0) == [.fetch(1)])
        #expect(keeper.handle(.provided(fetch: 1, expiresIn: .seconds(3600)), at: 1) == [.ready])
        #expect(keeper.handle(.needed, at: 2) == [.fetch(2)], "the first attempt failed; the server may have refused the credential")
        #expect(keeper.handle(.provided(fetch: 2, expiresIn: nil), at: 3) == [.ready])
    }

    @Test func `one fetch runs however many ask, and one answer serves them all`() {
        var keeper = Stepper(CredentialKeeper())
        _ = keeper.handle(.needed, at: 0)
        #expect(keeper.handle(.needed, at: 1).isEmpty)
        #expect(keeper.handle(.needed, at: 2).isEmpty)
        #expect(keeper.handle(.provided(fetch: 1, expiresIn: nil), at: 3) == [.ready])
    }

    @Test(arguments: [true, false])
    func `a provider that fails is retryable or final by its own word`(isRetryable: Bool) {
        var keeper = Stepper(CredentialKeeper())
        _ = keeper.handle(.needed, at: 0)
        #expect(keeper.handle(.failed(fetch: 1, isRetryable: isRetryable), at: 1) == [.unavailable(isRetryable: isRetryable)])
        #expect(keeper.handle(.needed, at: 2) == [.fetch(2)], "who asks again is not refused")
    }

    @Test func `a provider that hangs has its time, and is retryable`() {
        var keeper = Stepper(CredentialKeeper(policy: CredentialPolicy(timeout: .seconds(30))))
        _ = keeper.handle(.needed, at: 5)
        _ = keeper.handle(.needed, at: 20)
        #expect(keeper.wake(at: 34).isEmpty)
        #expect(keeper.wake(at: 35) == [.cancelFetch, .unavailable(isRetryable: true)])
        #expect(keeper.handle(.provided(fetch: 1, expiresIn: nil), at: 36).isEmpty, "too late")
    }

    @Test func `news of any but the newest fetch is ignored`() {
        var keeper = Stepper(CredentialKeeper())
        _ = keeper.handle(.needed, at: 0)
        _ = keeper.wake(at: 30)
        _ = keeper.handle(.needed, at: 31)
        #expect(keeper.handle(.provided(fetch: 1, expiresIn: nil), at: 32).isEmpty)
        #expect(keeper.handle(.failed(fetch: 1, isRetryable: false), at: 32).isEmpty)
        #expect(keeper.handle(.provided(fetch: 2, expiresIn: nil), at: 33) == [.ready])
    }

    @Test func `one that has expired by the provider's word still serves who needs it`() {
        var keeper = Stepper(CredentialKeeper())
        _ = keeper.handle(.needed, at: 0)
        #expect(keeper.handle(.provided(fetch: 1, expiresIn: .seconds(-60)), at: 1) == [.ready])
    }

    @Test func `while connected the next is fetched ahead of the expiry, and handed over to`() {
        var keeper = Stepper(CredentialKeeper.connected(life: .seconds(600)))
        #expect(keeper.wake(at: 569).isEmpty)
        #expect(keeper.wake(at: 570) == [.fetch(2)])
        #expect(keeper.handle(.provided(fetch: 2, expiresIn: .seconds(600)), at: 571) == [.handOver])
        #expect(keeper.handle(.needed, at: 572) == [.ready], "it was fetched for this attempt")
        #expect(keeper.handle(.connected, at: 573).isEmpty)
        #expect(keeper.machine.deadline == Moment(.seconds(571 + 570)))
        #expect(keeper.handle(.needed, at: 574) == [.fetch(3)], "and for no other")
    }

    @Test func `nothing is fetched ahead without a connection`() {
        var keeper = Stepper(CredentialKeeper())
        _ = keeper.handle(.needed, at: 0)
        _ = keeper.handle(.provided(fetch: 1, expiresIn: .seconds(600)), at: 0)
        #expect(keeper.machine.deadline == nil)
        _ = keeper.handle(.connected, at: 590)
        #expect(keeper.wake(at: 590) == [.fetch(2)], "a connection that took long is refreshed at once")
        _ = keeper.handle(.provided(fetch: 2, expiresIn: .seconds(600)), at: 591)
        _ = keeper.handle(.disconnected, at: 592)
        #expect(keeper.machine.deadline == nil)
    }

    @Test(
        arguments: [
            (3600, 30, 3570_000), (300, 30, 270_000), (100, 30, 90_000), (60, 30, 54_000), (12, 30, 10_800), (3600, 5, 3595_000),
            // Too short to hand over in, expired at birth, never to expire, or not wanted.
            (11, 30, nil), (1, 30, nil), (0, 30, nil), (-5, 30, nil), (nil, 30, nil), (3600, 0, nil), (3600, -1, nil),
        ] as [(Int?, Int, Int?)])
    func `a refresh comes ahead by what the policy says, and a tenth of the life at the most`(life: Int?, ahead: Int, expected: Int?) {
        let policy = CredentialPolicy(refreshAhead: .seconds(ahead))
        let keeper = CredentialKeeper.connected(life: life.map { .seconds($0) }, policy: policy)
        #expect(keeper.deadline == expected.map { Moment(.milliseconds($0)) })
    }

    @Test func `a life without end in sight traps nothing`() {
        let keeper = CredentialKeeper.connected(life: .seconds(Int64.max), policy: CredentialPolicy(refreshAhead: .seconds(Int64.max)))
        #expect(keeper.deadline.map { $0 > Moment(.seconds(1_000_000_000)) } ?? false)
    }

    @Test func `a refresh that fails is tried again after half of what is left, and told to nobody`() {
        var keeper = Stepper(CredentialKeeper.connected(life: .seconds(600)))
        _ = keeper.wake(at: 570)
        #expect(keeper.handle(.failed(fetch: 2, isRetryable: true), at: 570).isEmpty)
        #expect(keeper.wake(at: 584).isEmpty)
        #expect(keeper.wake(at: 585) == [.fetch(3)])
        #expect(keeper.handle(.failed(fetch: 3, isRetryable: true), at: 585).isEmpty)
        #expect(keeper.wake(at: 594).isEmpty, "but not without a pause")
        #expect(keeper.wake(at: 595) == [.fetch(4)])
        #expect(keeper.handle(.failed(fetch: 4, isRetryable: true), at: 595).isEmpty)
        #expect(keeper.machine.deadline == nil, "nor once it has expired")
    }

    @Test func `a refresh that hangs is cancelled and tried again`() {
        var keeper = Stepper(CredentialKeeper.connected(life: .seconds(600), policy: CredentialPolicy(timeout: .seconds(4))))
        _ = keeper.wake(at: 570)
        #expect(keeper.wake(at: 574) == [.cancelFetch])
        #expect(keeper.machine.deadline == Moment(.seconds(587)))
    }

    @Test func `a refresh that is refused for good is not tried again until an attempt needs one`() {
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

    @Test func `an attempt that fails for want of a credential leaves the old connection its refresh`() {
        var keeper = Stepper(CredentialKeeper.connected(life: .seconds(600)))
        _ = keeper.handle(.needed, at: 100)
        #expect(keeper.handle(.failed(fetch: 2, isRetryable: true), at: 100) == [.unavailable(isRetryable: true)])
        #expect(keeper.machine.deadline == Moment(.seconds(350)))
    }

    /// A provider with a store of its own gives what it has until that expires.
    @Test func `the same credential once more is no reason for a new connection`() {
        var keeper = Stepper(CredentialKeeper.connected(life: .seconds(600)))
        _ = keeper.wake(at: 570)
        #expect(keeper.handle(.provided(fetch: 2, expiresIn: .seconds(38)), at: 571).isEmpty, "9 s won")
        #expect(keeper.wake(at: 586) == [.fetch(3)])
        #expect(keeper.handle(.provided(fetch: 3, expiresIn: .seconds(24)), at: 586) == [.handOver], "10 s won")
    }

    @Test func `nor is one that came too late and expired at birth`() {
        var keeper = Stepper(CredentialKeeper.connected(life: .seconds(100)))
        _ = keeper.wake(at: 90)
        #expect(keeper.handle(.provided(fetch: 2, expiresIn: .zero), at: 119).isEmpty)
    }

    @Test func `one that never expires is worth a new connection, and needs no refresh`() {
        var keeper = Stepper(CredentialKeeper.connected(life: .seconds(600)))
        _ = keeper.wake(at: 570)
        #expect(keeper.handle(.provided(fetch: 2, expiresIn: nil), at: 571) == [.handOver])
        #expect(keeper.machine.deadline == nil)
    }

    @Test func `what was fetched ahead serves no attempt after its expiry`() {
        var keeper = Stepper(CredentialKeeper.connected(life: .seconds(600)))
        _ = keeper.wake(at: 570)
        _ = keeper.handle(.provided(fetch: 2, expiresIn: .seconds(60)), at: 570)
        #expect(keeper.handle(.needed, at: 630) == [.fetch(3)])
    }

    @Test func `what was fetched ahead serves no attempt after the connection was lost`() {
        var spare = Stepper(CredentialKeeper.connected(life: .seconds(600)))
        _ = spare.wake(at: 570)
        var late = spare
        #expect(spare.handle(.provided(fetch: 2, expiresIn: .seconds(600)), at: 571) == [.handOver])
        _ = spare.handle(.disconnected, at: 572)
        #expect(spare.handle(.needed, at: 572) == [.fetch(3)])
        _ = late.handle(.disconnected, at: 571)
        #expect(late.handle(.provided(fetch: 2, expiresIn: .seconds(600)), at: 572).isEmpty, "nothing is left to hand over")
        #expect(late.handle(.needed, at: 573) == [.fetch(3)])
    }

    @Test func `a connection that takes over from one that was just lost is refreshed as any other`() {
        var keeper = Stepper(CredentialKeeper.connected(life: .seconds(600)))
        _ = keeper.wake(at: 570)
        _ = keeper.handle(.provided(fetch: 2, expiresIn: .seconds(600)), at: 570)
        _ = keeper.handle(.needed, at: 570)
        _ = keeper.handle(.disconnected, at: 571)
        _ = keeper.handle(.connected, at: 572)
        #expect(keeper.machine.deadline == Moment(.seconds(1140)))
    }

    @Test func `the end cancels the fetch that runs, and is the end`() {
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
    /// A keeper that is connected since the start, with its first credential fetched then.
    static func connected(life: Duration?, policy: CredentialPolicy = CredentialPolicy()) -> Self {
        var keeper = CredentialKeeper(policy: policy)
        var effects: [Effect] = []
        for input in [.needed, .provided(fetch: 1, expiresIn: life), .connected] as [Input] {
            keeper.handle(input, at: .start, into: &effects)
        }
        return keeper
    }
}
