import Testing

@testable import HoldfastTool

@Suite struct DemoChartTests {
    private let chart: DemoChart = {
        var chart = DemoChart()
        chart.stands(.connecting, at: .zero)
        chart.stands(.connected, at: .milliseconds(400))
        chart.stored(after: .milliseconds(1), at: .seconds(1))
        chart.stored(after: .milliseconds(3), at: .milliseconds(1500))
        chart.stands(.waiting, at: .seconds(4))
        chart.stands(.connected, at: .seconds(6))
        chart.stored(after: .milliseconds(256), at: .seconds(7))
        return chart
    }()

    @Test func `a column shows what held for most of it`() {
        #expect(chart.lines(until: .seconds(8), columns: 8)[0].hasPrefix("████░░██  "))
        #expect(chart.lines(until: .seconds(8), columns: 80)[0].hasPrefix("▒▒▒▒██"))
    }

    @Test func `a column shows its longest time, by factors`() {
        let line = chart.lines(until: .seconds(8), columns: 8)[1]
        #expect(line == " ▁     █  until stored: ▁ 3 ms … █ 256 ms")
    }

    @Test func `times that are alike make a flat line`() {
        var chart = DemoChart()
        for second in 0..<4 { chart.stored(after: .milliseconds(2), at: .seconds(second)) }
        #expect(chart.lines(until: .seconds(4), columns: 4)[1].hasPrefix("▁▁▁▁  "))
    }

    @Test func `a step of the bars is a factor of the whole range`() {
        var chart = DemoChart()
        for (second, length) in [1, 2, 4, 8, 16, 32, 64, 128, 256].enumerated() {
            chart.stored(after: .milliseconds(length), at: .seconds(second))
        }
        #expect(chart.lines(until: .seconds(9), columns: 9)[1].hasPrefix("▁▁▂▃▄▅▆▇█  "))
    }

    @Test func `the time stands below`() {
        #expect(chart.lines(until: .seconds(8), columns: 40)[2] == "╵0 ms     ╵2 s      ╵4 s      ╵6 s        time")
    }

    @Test func `what comes at the very end has a column`() {
        var chart = DemoChart()
        chart.stored(after: .milliseconds(2), at: .seconds(4))
        #expect(chart.lines(until: .seconds(4), columns: 4)[1].hasPrefix("   ▁  "))
    }

    @Test func `without time there is nothing to draw`() {
        #expect(chart.lines(until: .zero, columns: 8).isEmpty)
    }
}
