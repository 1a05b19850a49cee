extension MeasureReport {
    private static let nameWidth = 13
    private static let cellWidth = 18
    private static let barWidth = 40

    /// This report for people.
    func lines(style: Style) -> [String] {
        let heading = [style.paint("\(messages.grouped) \(messages == 1 ? "message" : "messages")", .prompt)]
        let blocks = [heading, sizes, times(style), chart(style), advice]
        return Array(blocks.filter { !$0.isEmpty }.joined(separator: [""]))
    }

    private var sizes: [String] {
        let titles = ["plain", "deflate", "with takeover"]
        return [Self.row("bytes a message", titles)]
            + rows.map { row in
                Self.row(row.format, row.sizes.map { "\($0.bytesPerMessage.bytes)  \($0.percent)" })
            }
    }

    private func times(_ style: Style) -> [String] {
        let titles = ["encode", "decode", "de- and inflate", "with takeover"]
        return [Self.row("CPU a message", titles)]
            + rows.map { row in
                Self.row(row.format, [row.encode, row.decode, row.deflate, row.deflateWithTakeover].map(\.microseconds))
            } + [style.paint("of values whose shape is unknown; of types that are known less", .dim)]
    }

    private func chart(_ style: Style) -> [String] {
        let most = rows.flatMap(\.sizes).map(\.bytesPerMessage).max() ?? 0
        let kinds: [(name: String, part: Style.Part)] = [("plain", .sent), ("deflate", .received), ("with takeover", .good)]
        return rows.flatMap { row in
            zip(kinds, row.sizes).enumerated().map { place, bar in
                let (kind, size) = (bar.0, bar.1.bytesPerMessage)
                let names = (place == 0 ? row.format : "").paddedRight(to: Self.nameWidth) + kind.name.paddedRight(to: 15)
                return names + style.paint(String(bar: size, of: most, width: Self.barWidth), kind.part) + " " + size.bytes
            }
        }
    }

    private static func row(_ name: String, _ cells: [String]) -> String {
        name.paddedRight(to: nameWidth + 3) + cells.map { $0.paddedLeft(to: cellWidth) }.joined()
    }
}

extension MeasureReport.Row {
    fileprivate var sizes: [MeasureReport.Size] { [plain, deflated, deflatedWithTakeover] }
}

extension MeasureReport.Size {
    fileprivate var percent: String { "\(Int((ratio * 100).rounded())) %".paddedLeft(to: 5) }
}

extension Double {
    /// This number of bytes: `9.5 B`, `183 B`, `20,480 B`.
    fileprivate var bytes: String {
        if self >= 100 || self == rounded() { return Int(rounded()).grouped + " B" }
        return "\((self * 10).rounded() / 10) B"
    }

    /// This number of microseconds, to three figures: `0.21 µs`, `12.3 µs`, `1.25 ms`.
    var microseconds: String {
        if self >= 1000 { return Duration.microseconds(self).phrase }
        let decimals = self < 10 ? 100.0 : self < 100 ? 10.0 : 1.0
        let figures = (self * decimals).rounded() / decimals
        return (figures == figures.rounded() ? String(Int(figures)) : String(figures)) + " µs"
    }
}
