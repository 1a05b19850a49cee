import HoldfastTesting
import SessionCore
import Testing

@Suite struct DurationHistogramTests {
    @Test func `an empty histogram has no percentiles`() {
        let histogram = DurationHistogram()
        #expect(histogram.count == 0 && histogram.longest == nil && histogram.percentile(50) == nil)
    }

    @Test func `with one duration every percentile equals it`() {
        var histogram = DurationHistogram()
        histogram.record(.nanoseconds(1_234_567))
        for percentile in [0, 50, 99, 100] { #expect(histogram.percentile(Double(percentile)) == .nanoseconds(1_234_567)) }
    }

    @Test func `durations below 64 µs are exact`() {
        var histogram = DurationHistogram()
        for microseconds in 1...63 { histogram.record(.microseconds(microseconds)) }
        for rank in 1...63 { #expect(histogram.percentile(Double(rank) * 100 / 63 - 0.01) == .microseconds(rank)) }
    }

    @Test func `up to two minutes a percentile is never too low and at most 1/32 too high`() throws {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<50 {
            let scale = Int64(1) << Int64.random(in: 6...36, using: &random)
            let durations = (0..<200).map { _ in Duration.nanoseconds(Int64.random(in: 0...scale, using: &random)) }.sorted()
            var histogram = DurationHistogram()
            for duration in durations.shuffled(using: &random) { histogram.record(duration) }
            for percentile in [1.0, 50, 90, 95, 99, 99.9, 100] {
                let exact = durations[max(1, Int((percentile * 2).rounded(.up))) - 1]
                let value = try #require(histogram.percentile(percentile))
                #expect(value >= exact)
                #expect(value <= exact + exact / 32 + .microseconds(1))
            }
            #expect(histogram.longest == durations.last)
        }
    }

    @Test func `very long durations are counted as long, and negative ones as zero`() {
        var histogram = DurationHistogram()
        for duration in [Duration.seconds(-5), .milliseconds(-1), .seconds(200), .seconds(Int64.max / 2)] { histogram.record(duration) }
        #expect(histogram.count == 4)
        #expect(histogram.percentile(50) == .zero)
        #expect(histogram.percentile(75) == .seconds(Int64.max / 2))
        #expect(histogram.longest == .seconds(Int64.max / 2))
    }

    @Test func `percentiles outside 0 to 100 are clamped`() {
        var histogram = DurationHistogram()
        for milliseconds in [10, 20] { histogram.record(.milliseconds(milliseconds)) }
        #expect(histogram.percentile(-3) == histogram.percentile(0))
        #expect(histogram.percentile(1000) == .milliseconds(20))
    }
}
