/// The last prices of a symbol, drawn in one row of text.
struct Sparkline: Hashable, Sendable {
    /// How many prices it keeps.
    static let capacity = 32
    private static let bars: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    private var prices: [Int64] = []

    mutating func append(_ price: Int64) {
        if prices.count == Self.capacity { prices.removeFirst() }
        prices.append(price)
    }

    /// The newest prices, one to a column, from the least (▁) to the greatest (█) of them; a flat line is low.
    func text(columns: Int) -> String {
        let shown = prices.suffix(max(0, columns))
        guard let least = shown.min(), let greatest = shown.max() else { return "" }
        let span = Double(greatest - least)
        return String(
            shown.map { price in
                guard span > 0 else { return Self.bars[0] }
                return Self.bars[Int((Double(price - least) / span * Double(Self.bars.count - 1)).rounded())]
            })
    }
}
