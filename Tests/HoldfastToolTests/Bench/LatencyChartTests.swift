import Testing

@testable import HoldfastTool

@Suite struct LatencyChartTests {
    @Test(arguments: [
        [(1, 1)], [(7, 3), (8, 1)], [(40, 1000), (60_000_000, 1)], [(1, 1), (60_000_000, 1)], [(999, 1), (1000, 1), (1001, 5)],
        Array((1...2000).map { ($0 * 37, $0) }),
    ])
    func `every value stands in the one row that spans it`(recorded: [(value: Int, count: Int)]) {
        let rows = LatencyChart(recorded).rows
        #expect(1...20 ~= rows.count)
        for row in rows {
            #expect(row.count == recorded.filter { row.from <= $0.value && $0.value < row.to }.reduce(0) { $0 + $1.count })
        }
        #expect(rows.reduce(0) { $0 + $1.count } == recorded.reduce(0) { $0 + $1.count })
        #expect(zip(rows, rows.dropFirst()).allSatisfy { $0.to == $1.from })
        #expect(rows.first?.count != 0 && rows.last?.count != 0)
    }

    @Test func `the scale is as fine as the rows allow`() {
        #expect(LatencyChart([(100, 1), (199, 1)]).rows.map(\.from) == [100, 120, 150, 180])
        #expect(LatencyChart([(10, 1), (5000, 1)]).rows.map(\.from).prefix(4) == [10, 15, 20, 30])
    }

    @Test func `nothing makes no rows`() {
        #expect(LatencyChart([]).rows.isEmpty)
        #expect(LatencyChart([]).lines.isEmpty)
    }

    @Test func `bars are in proportion, and what is there is seen`() {
        let rows = [
            LatencyChart.Row(from: 900, to: 1000, count: 1_000_000), .init(from: 1000, to: 1200, count: 512_500),
            .init(from: 1200, to: 1500, count: 0), .init(from: 1500, to: 2000, count: 1),
        ]
        let bar = String(repeating: "█", count: 40)
        #expect(
            LatencyChart(rows: rows).lines == [
                "900 µs …   1 ms  " + bar + "   66.12 %     1,000,000",
                "  1 ms … 1.2 ms  " + bar.prefix(20) + "▌" + String(repeating: " ", count: 19) + "   33.88 %       512,500",
                "1.2 ms … 1.5 ms  " + String(repeating: " ", count: 40) + "    0.00 %             0",
                "1.5 ms …   2 ms  ▏" + String(repeating: " ", count: 39) + "   <0.01 %             1",
            ])
    }
}
