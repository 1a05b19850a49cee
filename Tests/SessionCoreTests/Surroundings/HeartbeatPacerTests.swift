import HoldfastTesting
import MachineCore
import SessionCore
import Testing
import WebSocketCore

@Suite struct HeartbeatPacerTests {
    @Test func `each stable period lengthens the interval by half, up to the maximum`() {
        var pacer = HeartbeatPacer(base: .seconds(20), maximum: .seconds(120), stretch: .seconds(100))
        pacer.opened(at: .start)
        let intervals = (1...7).map { stretch in
            pacer.answered(at: Moment(.seconds(100 * stretch)))
            return pacer.interval
        }
        #expect(intervals == [30_000, 45_000, 67_500, 101_250, 120_000, 120_000, 120_000].map { .milliseconds($0) })
    }

    @Test func `the interval grows at most once per stable period`() {
        var pacer = HeartbeatPacer(stretch: .seconds(100))
        pacer.opened(at: .start)
        pacer.answered(at: Moment(.seconds(99)))
        #expect(pacer.interval == .seconds(20))
        pacer.answered(at: Moment(.seconds(150)))
        pacer.answered(at: Moment(.seconds(249)))
        #expect(pacer.interval == .seconds(30))
    }

    @Test func `a stable period does not span two connections`() {
        var pacer = HeartbeatPacer(stretch: .seconds(100))
        pacer.opened(at: .start)
        pacer.lost(wasIdle: false)
        pacer.answered(at: Moment(.seconds(100)))
        pacer.opened(at: Moment(.seconds(100)))
        pacer.answered(at: Moment(.seconds(199)))
        #expect(pacer.interval == .seconds(20))
    }

    @Test func `a connection lost while idle halves the interval, down to the minimum`() {
        var pacer = HeartbeatPacer(base: .seconds(30), minimum: .seconds(10))
        let intervals = (0..<3).map { _ in
            pacer.opened(at: .start)
            pacer.lost(wasIdle: true)
            return pacer.interval
        }
        #expect(intervals == [.seconds(15), .seconds(10), .seconds(10)])
    }

    @Test func `another loss, or a repeated report, does not change the interval`() {
        var pacer = HeartbeatPacer(base: .seconds(100))
        pacer.lost(wasIdle: true)
        pacer.opened(at: .start)
        pacer.lost(wasIdle: false)
        #expect(pacer.interval == .seconds(100))
        pacer.opened(at: .start)
        pacer.lost(wasIdle: true)
        pacer.lost(wasIdle: true)
        #expect(pacer.interval == .seconds(50))
    }

    @Test func `each loss while idle doubles the required stable period, up to an hour`() {
        var pacer = HeartbeatPacer(base: .seconds(10), minimum: .seconds(10), stretch: .seconds(100))
        for required in [200, 400, 800, 1600, 3200, 3600, 3600] {
            pacer.opened(at: .start)
            pacer.lost(wasIdle: true)
            var next = pacer
            next.opened(at: .start)
            next.answered(at: Moment(.seconds(required - 1)))
            #expect(next.interval == .seconds(10))
            next.answered(at: Moment(.seconds(required)))
            #expect(next.interval == .seconds(15))
        }
    }

    @Test func `another network resets everything`() {
        var pacer = HeartbeatPacer(base: .seconds(40), stretch: .seconds(100))
        pacer.opened(at: .start)
        pacer.lost(wasIdle: true)
        pacer.moved()
        #expect(pacer == HeartbeatPacer(base: .seconds(40), stretch: .seconds(100)))
        pacer.opened(at: .start)
        pacer.moved()
        pacer.answered(at: Moment(.seconds(100)))
        #expect(pacer.interval == .seconds(60), "the open connection continues")
    }

    @Test func `extreme settings neither trap nor ping without a pause`() {
        let huge = Duration.seconds(Int64.max)
        for base in [huge, .zero, .seconds(-1)] {
            for (minimum, maximum) in [(.zero, .zero), (huge, .zero), (.seconds(-5), huge)] as [(Duration, Duration)] {
                for stretch in [huge, .zero, .seconds(-1)] {
                    var pacer = HeartbeatPacer(base: base, minimum: minimum, maximum: maximum, stretch: stretch)
                    for second in 0..<100 {
                        pacer.opened(at: Moment(.seconds(second)))
                        pacer.answered(at: Moment(.seconds(second + 1)))
                        pacer.lost(wasIdle: second % 3 == 0)
                        #expect(pacer.interval >= .seconds(1) && pacer.interval <= huge)
                    }
                }
            }
        }
    }

    /// A day behind a middlebox that drops a connection after this many idle seconds.
    @Test(arguments: [12, 30, 45, 60, 100, 200])
    func `a middlebox that drops idle connections costs a few connections a day and few pings`(memory: Int) {
        var pacer = HeartbeatPacer()
        var (now, losses, pings) = (Moment.start, 0, 0)
        pacer.opened(at: now)
        while now < Moment(.seconds(86_400)) {
            now = now + pacer.interval
            pings += 1
            if pacer.interval > .seconds(memory) {
                losses += 1
                pacer.lost(wasIdle: true)
                now = now + .seconds(20)
                pacer.opened(at: now)
            } else {
                pacer.answered(at: now)
            }
            #expect(pacer.interval >= .seconds(10) && pacer.interval <= .seconds(120))
        }
        #expect(losses <= 30)
        #expect(pings <= 2 * 86_400 / min(memory, 120))
    }

    @Test(arguments: 1...100 as ClosedRange<UInt64>)
    func `a silent link is detected within the current interval plus the timeout`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let patience = Duration.seconds(5)
        var pacer = HeartbeatPacer(stretch: .seconds(200))
        pacer.opened(at: .start)
        var world = Simulation(Heartbeat(interval: pacer.interval, patience: patience, seed: 7), Ponger()) {
            if case .sendPing(let payload) = $0 { payload } else { nil }
        } inward: {
            .pong($0)
        }
        let cut = Moment(.seconds(Int64.random(in: 100...3000, using: &random)))
        while world.now < cut {
            world.delay = .milliseconds(Int64.random(in: 1...2400, using: &random))
            guard let effects = world.step() else { break }
            for case .sendPing(let payload) in effects.near { world.send(.written(payload)) }
            for case .roundTrip in effects.near {
                pacer.answered(at: world.now)
                world.send(.setInterval(pacer.interval))
            }
            #expect(!effects.near.contains(.dead))
        }
        world.cut()
        world.isLost = { true }
        let silentSince = world.now
        if Bool.random(using: &random) {
            for case .sendPing(let payload) in world.send(.probe) { world.send(.written(payload)) }
        }
        var deadReports = 0
        while let effects = world.step() {
            for case .sendPing(let payload) in effects.near { world.send(.written(payload)) }
            deadReports += effects.near.count { $0 == .dead }
        }
        #expect(deadReports == 1 && world.now - silentSince <= pacer.interval + patience)
    }
}

/// Answers every ping.
private struct Ponger: Machine {
    var deadline: Moment? { nil }
    mutating func handle(_ payload: [UInt8], at now: Moment, into effects: inout [[UInt8]]) { effects.append(payload) }
    mutating func wake(at now: Moment, into effects: inout [[UInt8]]) {}
}
