/// All symbols of a market with their present quotes: what a server's feeds read from.
package struct QuoteTable: Hashable, Sendable {
    /// Which run of the market it is: versions of another one tell nothing.
    package let market: Int64
    /// The names; the place of a name is the symbol's number.
    package let names: [String]
    private var states: [QuoteState]

    /// A table at version 1 of everything.
    ///
    /// - Parameters:
    ///   - market: Which run of the market it is, not negative.
    ///   - symbols: Name and first figures of each; the names are valid and differ, the figures are in range.
    package init(market: Int64, symbols: [(name: String, figures: QuoteFigures)]) {
        precondition(0...QuoteFigures.maximum ~= market && symbols.count <= QuotesLimits.symbols)
        precondition(symbols.allSatisfy { SymbolName.isValid($0.name) && $0.figures.areInRange })
        (self.market, names) = (market, symbols.map(\.name))
        states = symbols.map { QuoteState(figures: $0.figures) }
    }

    package var count: Int { states.count }

    package subscript(symbol: Int) -> QuoteState { states[symbol] }

    /// Makes a change of the market; figures out of range are no change.
    package mutating func update(_ symbol: Int, to figures: QuoteFigures) {
        guard figures.areInRange, states[symbol].version < QuoteFigures.maximum else { return }
        states[symbol].version += 1
        states[symbol].figures = figures
    }
}
