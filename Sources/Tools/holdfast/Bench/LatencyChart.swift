/// A distribution drawn in text: one row for each step of time, on a scale of round numbers that grow by factors.
struct LatencyChart: Hashable, Sendable {
    /// How many values lie from `from` up to, but without, `to`; in microseconds.
    struct Row: Hashable, Sendable, Codable {
        let from: Int
        let to: Int
        var count: Int
    }

    private static let mostRows = 20
    private static let barWidth = 40
    /// Steps within a power of ten, fine to coarse.
    private static let scales: [[Double]] = [
        [1, 1.2, 1.5, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9], [1, 1.5, 2, 3, 5, 7], [1, 2, 5], [1],
    ]

    /// From the row with the least value to that with the greatest, those between included.
    let rows: [Row]

    init(rows: [Row]) { self.rows = rows }

    /// Sorts values, ascending, into the finest scale that takes no more than 20 rows.
    init(_ recorded: [(value: Int, count: Int)]) {
        let charts = Self.scales.lazy.map { Self.rows(of: recorded, scale: $0) }
        rows = charts.first { $0.count <= Self.mostRows } ?? []
    }

    /// One line for a row: its times, a bar, its share and its count.
    var lines: [String] {
        let total = rows.reduce(0) { $0 + $1.count }
        let most = rows.map(\.count).max() ?? 0
        let names = rows.map { ($0.from.latencyPhrase, $0.to.latencyPhrase) }
        let widths = (names.map(\.0.count).max() ?? 0, names.map(\.1.count).max() ?? 0)
        return zip(rows, names).map { row, name in
            let share = Double(row.count) / Double(total) * 100
            let bar = String(bar: Double(row.count), of: Double(most), width: Self.barWidth)
            return name.0.paddedLeft(to: widths.0) + " … " + name.1.paddedLeft(to: widths.1) + "  "
                + bar.paddedRight(to: Self.barWidth) + Self.percent(share).paddedLeft(to: 10) + row.count.grouped.paddedLeft(to: 14)
        }
    }

    private static func rows(of recorded: [(value: Int, count: Int)], scale: [Double]) -> [Row] {
        guard let least = recorded.first?.value, let greatest = recorded.last?.value else { return [] }
        var edges = [0]
        var power = 1.0
        while edges[edges.count - 1] <= greatest {
            // Steps below a microsecond fall together.
            for step in scale where Int(step * power) > edges[edges.count - 1] { edges.append(Int(step * power)) }
            power *= 10
        }
        var rows = zip(edges, edges.dropFirst()).map { Row(from: $0, to: $1, count: 0) }
        rows = rows.filter { $0.to > least && $0.from <= greatest }
        var index = 0
        for (value, count) in recorded {
            while value >= rows[index].to { index += 1 }
            rows[index].count += count
        }
        return rows
    }

    private static func percent(_ share: Double) -> String {
        let hundredths = Int((share * 100).rounded())
        if hundredths == 0, share > 0 { return "<0.01 %" }
        let fraction = String(hundredths % 100)
        return "\(hundredths / 100)." + String(repeating: "0", count: 2 - fraction.count) + fraction + " %"
    }
}

extension String {
    func paddedLeft(to width: Int) -> String { String(repeating: " ", count: Swift.max(0, width - count)) + self }
    func paddedRight(to width: Int) -> String { self + String(repeating: " ", count: Swift.max(0, width - count)) }
}
