import MachineCore
import SessionCore
import Testing
import WebSocketCore

/// How a session learns the longest safe interval between pings.
@Suite struct SessionPaceTests {
    /// A session whose interval grows from 20 s after each 100 s of stability.
    ///
    /// Times are in whole seconds.
    private struct Life {
        var session: Stepper<Session>
        var second = 0

        init(_ configure: (inout SessionPolicy) -> Void = { _ in }) {
            var policy = SessionPolicy()
            policy.heartbeat = .adaptive(base: .seconds(20), maximum: .seconds(120), stretch: .seconds(100))
            policy.reconnect.backoff = Backoff(base: .seconds(1), jitter: .proportional(0))
            configure(&policy)
            session = Stepper(Session(policy: policy, seed: 1))
            feed(.start)
        }

        @discardableResult mutating func feed(_ input: Session.Input, after seconds: Int = 0) -> [Session.Effect] {
            second += seconds
            return session.handle(input, at: second)
        }

        /// Loses the connection and opens the next one a minute later.
        ///
        /// Returns its interval.
        mutating func lose(_ generation: UInt64, _ loss: Loss) -> Duration? {
            feed(.lost(generation: generation, loss))
            second += 60
            _ = session.wake(at: second)
            return interval(feed(.opened(generation: generation + 1)))
        }

        /// The interval among these effects.
        func interval(_ effects: [Session.Effect]) -> Duration? {
            for case .setPingInterval(_, let interval) in effects { return interval }
            return nil
        }
    }
    private static let home = NetworkPath(.wifi, interface: "en0")
    private static let away = NetworkPath(.cellular, interface: "pdp_ip0")

    @Test func `every connection gets the current interval when it opens`() {
        var life = Life()
        #expect(life.feed(.opened(generation: 1)).last == .setPingInterval(generation: 1, .seconds(20)))
        #expect(life.lose(1, Loss(.lost)) == .seconds(20))
    }

    @Test func `a fixed interval comes from the configuration`() {
        var life = Life { $0.heartbeat = .fixed }
        #expect(life.interval(life.feed(.opened(generation: 1))) == nil)
        #expect(life.feed(.answered(generation: 1), after: 1000).isEmpty)
        #expect(life.lose(1, Loss(.unresponsive)) == nil)
    }

    @Test func `an answer after a stable period lengthens the interval of its connection`() {
        var life = Life()
        life.feed(.opened(generation: 1))
        #expect(life.feed(.answered(generation: 1), after: 99).isEmpty)
        #expect(life.feed(.answered(generation: 1), after: 1) == [.setPingInterval(generation: 1, .seconds(30))])
        #expect(life.feed(.answered(generation: 2), after: 100).isEmpty, "this connection does not exist")
    }

    @Test(arguments: [Loss(.unresponsive), Loss(.lost, wasIdle: true)])
    func `a connection that is lost while idle halves the next interval`(loss: Loss) {
        var life = Life()
        life.feed(.opened(generation: 1))
        #expect(life.lose(1, loss) == .seconds(10))
    }

    @Test(arguments: [Loss(.lost), Loss(.stalled), Loss(.closed(.goingAway))])
    func `another loss does not change the interval`(loss: Loss) {
        var life = Life()
        life.feed(.opened(generation: 1))
        #expect(life.lose(1, loss) == .seconds(20))
    }

    @Test func `a failed attempt does not change the interval`() {
        var life = Life()
        #expect(life.lose(1, Loss(.unresponsive)) == .seconds(20))
    }

    @Test func `a loss caused by a lost network does not change the interval`() {
        var life = Life()
        life.feed(.opened(generation: 1))
        #expect(life.feed(.path(.notViable)) == [.probe(generation: 1)])
        #expect(life.lose(1, Loss(.unresponsive)) == .seconds(20))
    }

    @Test func `a connection that answered a probe can be lost while idle again`() {
        var life = Life()
        life.feed(.opened(generation: 1))
        life.feed(.path(.notViable))
        life.feed(.answered(generation: 1), after: 1)
        #expect(life.lose(1, Loss(.unresponsive)) == .seconds(10))
    }

    @Test func `the answer to a probe does not lengthen the interval, because no silence came before it`() {
        var life = Life()
        life.feed(.opened(generation: 1))
        life.feed(.path(.notViable), after: 150)
        #expect(life.feed(.answered(generation: 1)).isEmpty)
        #expect(life.interval(life.feed(.answered(generation: 1), after: 20)) == .seconds(30))
    }

    @Test func `another interface resets the interval, and the same one keeps it`() {
        var life = Life()
        life.feed(.opened(generation: 1))
        #expect(life.interval(life.feed(.path(.satisfied(Self.home)))) == nil)
        life.feed(.answered(generation: 1), after: 100)
        life.feed(.path(.unsatisfied))
        #expect(life.interval(life.feed(.path(.satisfied(Self.home)))) == nil)
        let moved = life.feed(.path(.satisfied(Self.away)))
        #expect(moved.contains(.setPingInterval(generation: 1, .seconds(20))))
    }

    @Test func `a change of the interface without a connection applies to the next one`() {
        var life = Life()
        life.feed(.path(.satisfied(Self.home)))
        life.feed(.opened(generation: 1))
        life.feed(.lost(generation: 1, Loss(.unresponsive)))
        #expect(life.interval(life.feed(.path(.satisfied(Self.away)))) == nil)
        life.second += 60
        _ = life.session.wake(at: life.second)
        #expect(life.interval(life.feed(.opened(generation: 2))) == .seconds(20))
    }

    @Test func `a stable period does not span a connection that was given up`() {
        var life = Life { $0.background = .close(after: .zero) }
        life.feed(.opened(generation: 1))
        life.feed(.life(.background), after: 90)
        life.feed(.life(.foreground))
        life.feed(.opened(generation: 2), after: 1)
        #expect(life.feed(.answered(generation: 2), after: 20).isEmpty)
    }

    @Test func `the successor gets the interval, and the loss of the old connection is ignored`() {
        var life = Life { $0.path.handsOver = true }
        life.feed(.opened(generation: 1))
        life.feed(.path(.betterPathAvailable), after: 60)
        #expect(life.feed(.opened(generation: 2)).last == .setPingInterval(generation: 2, .seconds(20)))
        #expect(life.feed(.lost(generation: 1, Loss(.unresponsive))).isEmpty)
        #expect(life.lose(2, Loss(.lost)) == .seconds(20))
    }
}
