/// The known state of one symbol.
@dynamicMemberLookup
public struct Quote: Hashable, Sendable {
    /// The number of price units per unit of the currency.
    public static let priceScale: Int64 = 10_000

    /// The name of the symbol.
    public let symbol: String
    /// The newest known figures, with their version.
    public let state: QuoteState
    /// Whether these are the newest figures from the server.
    ///
    /// False after a lost connection or a gap, until they have been received again.
    public let isCurrent: Bool

    /// Creates a quote; for tests of code that receives quotes.
    public init(symbol: String, state: QuoteState, isCurrent: Bool = true) {
        (self.symbol, self.state, self.isCurrent) = (symbol, state, isCurrent)
    }

    /// The number of the symbol's change.
    public var version: Int64 { state.version }

    /// One of the figures, such as `quote.bid`.
    public subscript(dynamicMember figure: KeyPath<QuoteFigures, Int64>) -> Int64 { state.figures[keyPath: figure] }
}

/// A set of figures of a quote: the mask of a tick.
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

/// The figures of a quote: prices in ten-thousandths of the currency, never negative.
public struct QuoteFigures: Hashable, Sendable {
    /// The highest price that a buyer offers.
    public var bid: Int64
    /// The lowest price that a seller asks.
    public var ask: Int64
    /// The price of the last trade.
    public var last: Int64
    /// The traded volume so far.
    public var volume: Int64
    /// When the quote last changed, in milliseconds since 1970 in UTC.
    public var time: Int64

    /// Creates figures.
    public init(bid: Int64 = 0, ask: Int64 = 0, last: Int64 = 0, volume: Int64 = 0, time: Int64 = 0) {
        (self.bid, self.ask, self.last, self.volume, self.time) = (bid, ask, last, volume, time)
    }

    /// The largest number in the protocol.
    ///
    /// Every language can represent it exactly.
    public static let maximum: Int64 = (1 << 53) - 1

    /// Whether the protocol can represent them.
    var areInRange: Bool {
        // A negative number has the highest bit set; one that is too large has another of the upper eleven bits set.
        UInt64(bitPattern: bid | ask | last | volume | time) <= UInt64(Self.maximum)
    }

    /// Returns the fields in which they differ from others.
    func fields(differingFrom other: QuoteFigures) -> QuoteFields {
        var fields: QuoteFields = []
        if bid != other.bid { fields.insert(.bid) }
        if ask != other.ask { fields.insert(.ask) }
        if last != other.last { fields.insert(.last) }
        if volume != other.volume { fields.insert(.volume) }
        if time != other.time { fields.insert(.time) }
        return fields
    }

    /// Returns the differences from other figures; both must be in range.
    func differences(from other: QuoteFigures) -> QuoteFigures {
        QuoteFigures(
            bid: bid - other.bid, ask: ask - other.ask, last: last - other.last, volume: volume - other.volume, time: time - other.time)
    }

    /// Returns these figures with differences added.
    ///
    /// ``areInRange`` tells whether the result is in range.
    ///
    /// It wraps around instead of trapping. With differences within ±``maximum``, no wrapped result is in range.
    func adding(_ differences: QuoteFigures) -> QuoteFigures {
        QuoteFigures(
            bid: bid &+ differences.bid, ask: ask &+ differences.ask, last: last &+ differences.last,
            volume: volume &+ differences.volume, time: time &+ differences.time)
    }
}

/// The figures of a symbol with their version.
public struct QuoteState: Hashable, Sendable {
    /// The version, which starts at 1 and grows by one with each change of this symbol in the market.
    public var version: Int64
    /// The figures.
    public var figures: QuoteFigures

    /// Creates a state.
    public init(version: Int64 = 1, figures: QuoteFigures) { (self.version, self.figures) = (version, figures) }

    /// Whether the protocol can represent it.
    var isInRange: Bool { version > 0 && version <= QuoteFigures.maximum && figures.areInRange }
}

/// All symbols of a market with their present quotes, from which the server's feeds read.
package struct QuoteTable: Hashable, Sendable {
    /// The run of the market.
    ///
    /// Versions of different runs cannot be compared.
    package let market: Int64
    /// The names; the index of a name is the symbol's number.
    package let names: [String]
    private var states: [QuoteState]

    /// Creates a table with everything at version 1.
    ///
    /// - Parameters:
    ///   - market: The run of the market, not negative.
    ///   - symbols: The name and first figures of each symbol. The names must be valid and distinct, the figures in range.
    package init(market: Int64, symbols: [(name: String, figures: QuoteFigures)]) {
        precondition(0...QuoteFigures.maximum ~= market && symbols.count <= QuotesLimits.symbols)
        precondition(symbols.allSatisfy { SymbolName.isValid($0.name) && $0.figures.areInRange })
        (self.market, names) = (market, symbols.map(\.name))
        states = symbols.map { QuoteState(figures: $0.figures) }
    }

    package var count: Int { states.count }

    package subscript(symbol: Int) -> QuoteState { states[symbol] }

    /// Changes a quote.
    ///
    /// Figures out of range are ignored.
    package mutating func update(_ symbol: Int, to figures: QuoteFigures) {
        guard figures.areInRange, states[symbol].version < QuoteFigures.maximum else { return }
        states[symbol].version += 1
        states[symbol].figures = figures
    }
}
