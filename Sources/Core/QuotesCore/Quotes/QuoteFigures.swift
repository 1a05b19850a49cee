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
