import MachineCore
import Testing

@testable import WAMPCore

/// The limits on failed logins by address and by user.
@Suite struct LoginThrottleTests {
    private var throttle = LoginThrottle(
        byAddress: LoginThrottle.Rate(burst: 3, pause: .seconds(1)), byUser: LoginThrottle.Rate(burst: 5, pause: .seconds(10)))
    private var now = Moment.start

    /// A failed login: the delay before it, or nil if it is refused.
    private mutating func fail(_ address: String?, _ user: String?) -> Duration? {
        guard case .examine(let wait, _) = throttle.begin(address: address, user: user, at: now) else { return nil }
        return wait
    }

    private mutating func succeed(_ address: String?, _ user: String?) -> Duration? {
        guard case .examine(let wait, let charge) = throttle.begin(address: address, user: user, at: now) else { return nil }
        throttle.refund(charge, isProven: true, at: now)
        return wait
    }

    @Test mutating func `an address may fail a few times at once, then waits longer and longer, then is refused`() {
        #expect((0..<7).map { fail("a", "u\($0)") } == [.zero, .zero, .zero, .seconds(1), .seconds(2), .seconds(3), nil])
        guard case .refused(.seconds(4)) = throttle.begin(address: "a", user: "u", at: now) else {
            Issue.record("the refusal has the remaining time")
            return
        }
        #expect(fail("b", "u") == .zero)
        now = now + .seconds(1)
        #expect(fail("a", "u9") == .seconds(3) && fail("a", "u9") == nil)
        now = now + .seconds(10)
        #expect(fail("a", "u9") == .zero)
    }

    @Test mutating func `all addresses together may fail only so often for one user`() {
        #expect((0..<6).map { fail("a\($0)", "ann") } == [.zero, .zero, .zero, .zero, .zero, nil])
        #expect(fail("b", "bob") == .zero && fail("a0", nil) == .zero)
        now = now + .seconds(7)
        #expect(fail("c", "ann") == .seconds(3))
    }

    @Test mutating func `a successful login is free, and its address can still log in while others guess`() {
        for _ in 0..<50 { #expect(succeed("home", "ann") == .zero) }
        for number in 0..<9 { _ = fail("a\(number)", "ann") }
        #expect(succeed("elsewhere", "ann") == nil && succeed("home", "ann") == .zero)
        // Another user has no such right from that address.
        for number in 0..<9 { _ = fail("a\(number)", "bob") }
        #expect(succeed("home", "bob") == nil)
    }

    @Test mutating func `a pending login counts as failed until it is decided`() {
        var charges: [LoginThrottle.Charge] = []
        for _ in 0..<3 {
            guard case .examine(.zero, let charge) = throttle.begin(address: "a", user: "ann", at: now) else {
                Issue.record("the login is delayed")
                return
            }
            charges.append(charge)
        }
        #expect(fail("a", "ann") == .seconds(1))
        for charge in charges { throttle.refund(charge, isProven: false, at: now) }
        #expect(fail("a", "ann") == .zero)
        // A login that only led to a challenge does not make its address known.
        for number in 0..<9 { _ = fail("b\(number)", "ann") }
        #expect(fail("a", "ann") == nil)
    }

    @Test mutating func `the number of remembered entries is limited, and all others share one entry`() {
        for number in 0..<LoginThrottle.most { _ = fail("a\(number)", nil) }
        #expect((0..<4).map { fail("b\($0)", nil) } == [.zero, .zero, .zero, .seconds(1)])
        #expect(fail("a1", nil) == .zero)
        now = now + .seconds(60)
        #expect((0..<4).map { fail("b\($0)", nil) } == [.zero, .zero, .zero, .zero])
        let long = String(repeating: "x", count: 257)
        #expect((0..<6).map { fail("c\($0)", long + "\($0)") } == [.zero, .zero, .zero, .zero, .zero, nil])
        for number in 0..<30_000 { _ = succeed("d", "u\(number)") }
        for number in 0..<9 { _ = fail("e\(number)", "u29999") }
        #expect(succeed("d", "u29999") == .zero)
    }
}
