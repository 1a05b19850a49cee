import Testing

@testable import HoldfastTool

@Suite struct LatenciesTests {
    private func latencies(_ values: some Sequence<UInt32>) -> Latencies {
        var latencies = Latencies()
        for value in values { latencies.record(value) }
        return latencies
    }

    @Test func `percentiles are exact to three digits`() {
        let latencies = latencies(1...100_000)
        #expect(latencies.count == 100_000)
        for percentile in Latencies.told {
            let exact = percentile * 1000
            #expect(abs(Double(latencies.percentile(percentile)) - exact) <= exact / 1000, "p\(percentile)")
        }
        #expect(abs(latencies.max - 100_000) <= 100 && latencies.shortest == 1)
    }

    @Test func `what is too short or too long counts as the bound`() {
        let latencies = latencies([0, .max])
        #expect(latencies.shortest == 1)
        #expect(latencies.max == Latencies.longest)
        #expect(latencies.percentile(99) == Latencies.longest)
        #expect(latencies.recorded.map(\.count) == [1, 1])
    }

    @Test func `merged distributions are as if all had been in one`() {
        var merged = latencies([5, 500])
        merged.add(latencies([50, 50_000, 500]))
        let all = latencies([5, 500, 50, 50_000, 500])
        #expect(merged.recorded.map(\.value) == all.recorded.map(\.value))
        #expect(merged.recorded.map(\.count) == [1, 1, 2, 1])
        #expect(merged.mean == all.mean && merged.max == all.max)
    }

    @Test func `an empty one has zeros`() {
        let none = latencies([])
        #expect(none.percentile(99) == 0 && none.max == 0 && none.mean == 0 && none.recorded.isEmpty)
    }

    @Test(arguments: [
        (Duration.nanoseconds(1999), 1 as UInt32), (.milliseconds(2), 2000), (.seconds(1) + .microseconds(5), 1_000_005), (.zero, 0),
        (.milliseconds(-5), 0), (.seconds(-5), 0), (.seconds(60), 60_000_000), (.seconds(1e15), 60_000_000),
    ])
    func `durations become whole microseconds within the bounds`(duration: Duration, latency: UInt32) {
        #expect(duration.latency == latency)
    }
}
