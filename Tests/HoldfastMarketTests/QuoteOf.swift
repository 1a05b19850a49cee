import QuotesCore

/// A quote for tests of the board: what does not matter is left out.
func quote(_ symbol: String, last: Int64, bid: Int64 = 100, ask: Int64 = 200, volume: Int64 = 0, isCurrent: Bool = true) -> Quote {
    Quote(
        symbol: symbol, state: QuoteState(figures: QuoteFigures(bid: bid, ask: ask, last: last, volume: volume, time: 7)),
        isCurrent: isCurrent)
}
