import QuotesCore

/// Quotes as lines of text or JSON, for pipes: those that have changed since they were told last.
struct QuoteLines: Sendable {
    let isJSON: Bool
    private var told: [String: Quote] = [:]

    init(isJSON: Bool) { self.isJSON = isJSON }

    /// A line for each quote that is another one than before, in the order given.
    mutating func lines(_ quotes: [Quote]) -> [String] {
        quotes.compactMap { quote in
            guard told[quote.symbol] != quote else { return nil }
            defer { told[quote.symbol] = quote }
            return isJSON ? Self.json(quote) : Self.text(quote)
        }
    }

    private static func text(_ quote: Quote) -> String {
        let prices = [quote.last, quote.bid, quote.ask].map { Price.text($0).paddedLeft(to: 12) }.joined()
        let volume = Int(quote.volume).grouped.paddedLeft(to: 14)
        return quote.symbol.paddedRight(to: 9) + prices + volume + (quote.isCurrent ? "" : "  old")
    }

    /// The names of symbols need no escaping: see docs/quotes-protocol.md.
    private static func json(_ quote: Quote) -> String {
        #"{"symbol":"\#(quote.symbol)","version":\#(quote.version),"bid":\#(Price.text(quote.bid)),"ask":\#(Price.text(quote.ask)),"#
            + #""last":\#(Price.text(quote.last)),"volume":\#(quote.volume),"time":\#(quote.time),"current":\#(quote.isCurrent)}"#
    }
}
