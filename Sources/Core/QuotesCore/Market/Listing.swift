/// One symbol of the market behind its quote: what it is worth, and how restless it is.
struct Listing: Hashable, Sendable {
    /// Whole numbers in the unit of this stand for a price of 1.0000.
    private static let one = 1_000_000
    private static let unitsPerPriceStep = 100
    /// No single change is larger than a tenth, in millionths.
    private static let largestMove = 100_000

    /// What it was worth at first, and what it is drawn to; in millionths.
    private let home: Int
    /// What it is worth; from an eighth of ``home`` to eight times.
    private var worth: Int
    /// How far it moves in one change when nothing is going on, in millionths.
    private let temper: Int
    /// How far it moves now: a large move is followed by large ones for a while.
    private var unrest: Int
    /// How much one trade moves.
    private let lot: Int

    init(_ chance: inout MarketChance) {
        let magnitude = chance.below(11)
        home = (Self.one << magnitude) / 1000 * (1000 + chance.below(1000))
        worth = home
        temper = 60 + chance.below(240)
        unrest = temper
        lot = 1 + chance.below(9) * 10
    }

    /// What its quote says at first.
    func firstFigures(at time: Int64) -> QuoteFigures {
        let (bid, ask) = sides
        return QuoteFigures(bid: bid, ask: ask, last: bid, time: time)
    }

    /// News: it jumps, and is restless for a while.
    mutating func hearNews(_ chance: inout MarketChance) {
        move(by: chance.swing() * 15)
        unrest = temper * 10
    }

    /// Moves, with the wind of its sector, and tells what that makes of its quote: more than the time in it always changes.
    mutating func figures(after old: QuoteFigures, wind: Int, at time: Int64, _ chance: inout MarketChance) -> QuoteFigures {
        let pull = (home - worth) * 20 / home
        let swing = chance.swing() * unrest / 1000
        move(by: swing + wind + pull)
        // Two parts of calm, one of what just happened.
        unrest = min((temper * 2 + unrest * 13 + abs(swing)) / 16, temper * 20)
        var new = old
        (new.bid, new.ask, new.time) = (sides.bid, sides.ask, time)
        if (new.bid, new.ask) == (old.bid, old.ask) || chance.once(in: 4) {
            new.last = chance.once(in: 2) ? new.bid : new.ask
            let volume = old.volume + Int64(lot * (1 + chance.below(20)))
            // The count begins anew before the protocol cannot say it.
            new.volume = volume > QuoteFigures.maximum ? 0 : volume
        }
        return new
    }

    private mutating func move(by millionths: Int) {
        let bounded = min(max(millionths, -Self.largestMove), Self.largestMove)
        worth = min(max(worth + worth * bounded / 1_000_000, home / 8), home * 8)
    }

    /// Bid and ask on the grid of the price: a cent, or a hundredth of one below 1; the wider the more restless and the dearer.
    private var sides: (bid: Int64, ask: Int64) {
        let price = worth / Self.unitsPerPriceStep
        let step = worth < Self.one ? 1 : 100
        let width = min((1 + price / 2_000_000) * (1 + unrest / (temper * 2)), 40)
        let bid = max(price / step - width / 2, 1) * step
        return (Int64(bid), Int64(bid + width * step))
    }
}
