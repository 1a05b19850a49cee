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

/// Some of the figures of a quote: the mask of a tick.
package struct QuoteFields: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let bid = QuoteFields(rawValue: 1)
    package static let ask = QuoteFields(rawValue: 2)
    package static let last = QuoteFields(rawValue: 4)
    package static let volume = QuoteFields(rawValue: 8)
    package static let time = QuoteFields(rawValue: 16)
    package static let all: QuoteFields = [.bid, .ask, .last, .volume, .time]
}

/// What a quote says: prices in ten-thousandths of the currency, never negative.
public struct QuoteFigures: Hashable, Sendable {
    /// The highest price that somebody pays.
    public var bid: Int64
    /// The lowest price that somebody takes.
    public var ask: Int64
    /// The price of the last trade.
    public var last: Int64
    /// How much was traded so far.
    public var volume: Int64
    /// When the quote last changed, in milliseconds since 1970 in UTC.
    public var time: Int64

    /// Figures.
    public init(bid: Int64 = 0, ask: Int64 = 0, last: Int64 = 0, volume: Int64 = 0, time: Int64 = 0) {
        (self.bid, self.ask, self.last, self.volume, self.time) = (bid, ask, last, volume, time)
    }

    /// The largest number that the protocol has: every language can represent it exactly.
    public static let maximum: Int64 = (1 << 53) - 1

    /// Whether the protocol can say them.
    var areInRange: Bool {
        // A negative number has the highest bit; one that is too large has another of the upper eleven.
        UInt64(bitPattern: bid | ask | last | volume | time) <= UInt64(Self.maximum)
    }

    /// The fields in which they differ from others.
    func fields(differingFrom other: QuoteFigures) -> QuoteFields {
        var fields: QuoteFields = []
        if bid != other.bid { fields.insert(.bid) }
        if ask != other.ask { fields.insert(.ask) }
        if last != other.last { fields.insert(.last) }
        if volume != other.volume { fields.insert(.volume) }
        if time != other.time { fields.insert(.time) }
        return fields
    }

    /// What has to be added to others to get these; both are in range.
    func differences(from other: QuoteFigures) -> QuoteFigures {
        QuoteFigures(
            bid: bid - other.bid, ask: ask - other.ask, last: last - other.last, volume: volume - other.volume, time: time - other.time)
    }

    /// These with differences added; what leaves the range is told by ``areInRange``.
    ///
    /// Wraps around rather than traps: with differences within ±``maximum``, nothing that wraps comes out in range.
    func adding(_ differences: QuoteFigures) -> QuoteFigures {
        QuoteFigures(
            bid: bid &+ differences.bid, ask: ask &+ differences.ask, last: last &+ differences.last,
            volume: volume &+ differences.volume, time: time &+ differences.time)
    }
}

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
