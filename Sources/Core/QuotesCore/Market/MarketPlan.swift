/// What a synthetic market is like; the same plan gives the same market on every machine.
package struct MarketPlan: Hashable, Sendable {
    /// How even the market's pace is.
    package enum Mood: Hashable, Sendable {
        /// The rate is kept exactly, and nothing special happens.
        case calm
        /// Openings, news of a symbol, runs of a sector and quiet times change the rate, from a quarter to four times.
        case lively
    }

    /// How many symbols a market may have.
    package static let symbolCounts = 1...10_000

    /// How many symbols there are.
    package let symbols: Int
    /// Changes of quotes per second, all symbols together.
    package let rate: Int
    /// What all chance follows from.
    package let seed: UInt64
    /// How even the pace is.
    package let mood: Mood
    /// The time of the first quotes, in milliseconds since 1970; it also names this run of the market.
    package let opening: Int64

    /// Makes a plan; numbers out of range become the nearest in it.
    ///
    /// - Parameters:
    ///   - symbols: How many symbols, see ``symbolCounts``.
    ///   - rate: Changes per second, at least 1 and at most ``highestRate(symbols:)``.
    ///   - seed: What all chance follows from.
    ///   - mood: How even the pace is.
    ///   - opening: The time of the first quotes, in milliseconds since 1970.
    package init(symbols: Int = 500, rate: Int = 2000, seed: UInt64 = 1, mood: Mood = .lively, opening: Int64 = 0) {
        let count = min(max(symbols, Self.symbolCounts.lowerBound), Self.symbolCounts.upperBound)
        (self.symbols, self.seed, self.mood) = (count, seed, mood)
        self.opening = min(max(opening, 0), QuoteFigures.maximum / 2)
        self.rate = min(max(rate, 1), Self.highestRate(symbols: count))
    }

    /// The highest rate that so many symbols can have: each changes at most once in a beat of the market.
    package static func highestRate(symbols: Int) -> Int { symbols * Market.beatsPerSecond }
}
