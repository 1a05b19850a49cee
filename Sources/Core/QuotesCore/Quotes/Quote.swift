/// What is known of one symbol.
@dynamicMemberLookup
public struct Quote: Hashable, Sendable {
    /// How many parts of a price make one unit of the currency.
    public static let priceScale: Int64 = 10_000

    /// Its name.
    public let symbol: String
    /// The newest figures that are known, with their version.
    public let state: QuoteState
    /// Whether these are the newest figures that the server has sent, or may send soon: false after a cut or a gap, until they have come anew.
    public let isCurrent: Bool

    /// A quote, as a feed tells it; for tests of what hears of it.
    public init(symbol: String, state: QuoteState, isCurrent: Bool = true) {
        (self.symbol, self.state, self.isCurrent) = (symbol, state, isCurrent)
    }

    /// Which of the symbol's changes this is.
    public var version: Int64 { state.version }

    /// One of the figures: `quote.bid`.
    public subscript(dynamicMember figure: KeyPath<QuoteFigures, Int64>) -> Int64 { state.figures[keyPath: figure] }
}
