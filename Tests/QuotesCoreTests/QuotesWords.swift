import QuotesCore

/// Helpers of the quotes tests.
extension QuoteFigures {
    /// Figures that differ only in the last price.
    static func of(_ last: Int64) -> QuoteFigures { QuoteFigures(bid: last - 1, ask: last + 1, last: last, volume: 10, time: 1000) }
}

extension QuoteTable {
    /// A market of symbols with version 1 and a last price of 100.
    init(_ names: String..., market: Int64 = 1) { self.init(market: market, symbols: names.map { ($0, .of(100)) }) }

    /// Changes the last price, and the bid and ask with it.
    mutating func trade(_ symbol: Int, at last: Int64) { update(symbol, to: .of(last)) }
}

extension QuotesReply {
    var ticks: Ticks? { if case .ticks(let ticks) = self { ticks } else { nil } }
    var part: SnapshotPart? { if case .snapshot(let part) = self { part } else { nil } }
    var refusal: Refusal? { if case .refusal(let refusal) = self { refusal } else { nil } }
}
