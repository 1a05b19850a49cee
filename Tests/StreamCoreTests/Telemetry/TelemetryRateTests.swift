import HoldfastTesting
import MachineCore
import StreamCore
import Testing

@Suite struct TelemetryRateTests {
    private static let policy = AdaptiveRatePolicy(backlog: 1000, least: .oneOf(8), step: .oneOf(4), interval: .seconds(1))

    private struct RateHarness {
        var rate = AdaptiveRate(TelemetryRateTests.policy)
        var now = Moment.start

        /// The shares after each second with this input.
        mutating func shares(_ input: AdaptiveRate.Input, seconds: Int) -> [Int] {
            (0..<seconds).map { _ in
                note(input)
                now = now + .seconds(1)
                return rate.share.parts
            }
        }

        mutating func note(_ input: AdaptiveRate.Input) {
            var effects: [AdaptiveRate.Effect] = []
            let before = rate.share
            rate.handle(input, at: now, into: &effects)
            #expect(effects == (rate.share == before ? [] : [.keep(rate.share)]))
        }
    }

    @Test(arguments: [Duration.zero, .seconds(-1)])
    func `without an interval the backlog is checked from time to time`(interval: Duration) throws {
        var bench = RateHarness(rate: AdaptiveRate(AdaptiveRatePolicy(backlog: 1000, interval: interval)))
        bench.note(.backlog(1001))
        #expect(try #require(bench.rate.deadline) > bench.now)
    }

    @Test func `a large backlog halves the share once per interval, down to the minimum`() {
        var bench = RateHarness()
        bench.note(.backlog(1001))
        bench.note(.backlog(5000))
        #expect(bench.rate.share == .oneOf(2))
        bench.now = bench.now + .seconds(1)
        #expect(bench.shares(.backlog(1001), seconds: 4) == [256, 128, 128, 128])
    }

    @Test func `without problems the share grows by steps, each after a whole good interval`() {
        var bench = RateHarness()
        #expect(bench.shares(.backlog(1001), seconds: 3) == [512, 256, 128])
        bench.note(.backlog(1001))
        #expect(bench.shares(.backlog(0), seconds: 6) == [128, 384, 640, 896, 1024, 1024])
    }

    @Test func `a medium backlog does not change the share`() {
        var bench = RateHarness()
        #expect(bench.shares(.backlog(1000), seconds: 2) == [1024, 1024])
        bench.note(.backlog(1001))
        #expect(bench.shares(.backlog(501), seconds: 5) == [512, 512, 512, 512, 512])
        bench.note(.backlog(501))
        #expect(bench.shares(.backlog(500), seconds: 2) == [512, 768])
    }

    @Test func `a long round trip compared with the shortest halves the share once`() {
        var bench = RateHarness()
        bench.note(.roundTrip(.milliseconds(100)))
        bench.note(.roundTrip(.milliseconds(400)))
        #expect(bench.rate.share == .all)
        bench.note(.roundTrip(.milliseconds(401)))
        #expect(bench.shares(.backlog(0), seconds: 10).allSatisfy { $0 == 512 }, "the last known round trip is still long")
        #expect(bench.shares(.backlog(0), seconds: 2) == [768, 1024], "the round trip is too old to count")
    }

    @Test func `short round trips restore the share`() {
        var bench = RateHarness()
        bench.note(.roundTrip(.milliseconds(100)))
        bench.note(.roundTrip(.seconds(2)))
        bench.note(.roundTrip(.milliseconds(110)))
        #expect(bench.shares(.backlog(0), seconds: 3) == [512, 768, 1024])
    }

    @Test func `a round trip below the floor is never long, and each connection has its own minimum`() {
        var bench = RateHarness()
        bench.note(.roundTrip(.milliseconds(1)))
        bench.note(.roundTrip(.milliseconds(300)))
        #expect(bench.rate.share == .all)
        bench.note(.connected)
        bench.note(.roundTrip(.seconds(1)))
        bench.note(.roundTrip(.seconds(3)))
        #expect(bench.rate.share == .all)
    }

    @Test func `a sampled series checks the backlog each interval, and a complete one never`() {
        var bench = RateHarness()
        #expect(bench.rate.deadline == nil)
        bench.note(.backlog(2000))
        var effects: [AdaptiveRate.Effect] = []
        bench.rate.wake(at: bench.now + .milliseconds(999), into: &effects)
        #expect(effects.isEmpty)
        bench.rate.wake(at: bench.now + .seconds(1), into: &effects)
        #expect(effects == [.look] && bench.rate.deadline == bench.now + .seconds(2))
    }

    @Test func `in every sequence of events the share stays within bounds, and only a sampled series checks`() throws {
        let inputs: [AdaptiveRate.Input] = [
            .backlog(0), .backlog(700), .backlog(2000), .roundTrip(.milliseconds(10)), .roundTrip(.seconds(1)), .connected,
        ]
        let states = try explore(AdaptiveRate(Self.policy), inputs: inputs, depth: 5, tick: .milliseconds(700)) { step in
            let (before, after) = (step.before.share, step.after.share)
            try #require(after >= .oneOf(8) && after <= .all, "\(step)")
            try #require((step.after.deadline == nil) == (after == .all), "\(step)")
            try #require(after >= before || after.parts == max(before.parts / 2, 128), "\(step)")
            try #require(after <= before || after.parts == min(before.parts + 256, 1024), "\(step)")
        }
        #expect(states > 200)
    }

    @Test(arguments: [1, 31, 128, 333, 512, 1000, 1023, 1024])
    func `of any consecutive values the share is kept, rounded up or down`(parts: Int) {
        var (sampler, kept) = (EvenSampler(), [0])
        for _ in 0..<5000 { kept.append(kept.last! + (sampler.keeps(SampleShare(parts: parts)) ? 1 : 0)) }
        #expect(kept[1] == 1)
        for length in [1, 2, 3, 10, 100, 1024, 4000] {
            let exact = Double(length * parts) / 1024
            for start in 0...(5000 - length) {
                let count = Double(kept[start + length] - kept[start])
                if abs(count - exact) >= 1 { Issue.record("\(count) of \(length) from \(start)") }
            }
        }
    }

    @Test func `a share is at least one part and at most all`() {
        #expect(SampleShare(parts: -5).parts == 1 && SampleShare(parts: 5000) == .all)
        #expect(SampleShare.oneOf(0) == .all && SampleShare.oneOf(.max).parts == 1 && SampleShare.oneOf(4).fraction == 0.25)
    }
}
