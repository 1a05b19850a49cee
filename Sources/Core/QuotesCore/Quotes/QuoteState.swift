/// The figures of a symbol, and which of its changes they are.
public struct QuoteState: Hashable, Sendable {
    /// Grows by one with each change of this symbol in the market, from 1.
    public var version: Int64
    /// What the quote says.
    public var figures: QuoteFigures

    /// A state.
    public init(version: Int64 = 1, figures: QuoteFigures) { (self.version, self.figures) = (version, figures) }

    /// Whether the protocol can say it.
    var isInRange: Bool { version > 0 && version <= QuoteFigures.maximum && figures.areInRange }
}
