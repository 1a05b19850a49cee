internal import MachineCore

/// A synthetic market: quotes that change beat by beat, as chance wills it.
///
/// All of it but the time follows from its ``MarketPlan`` and the number of beats. Prices wander with clusters of unrest, sectors move
/// together, and in a lively market something is going on now and then. Prices are positive, a bid is below its ask, and nothing
/// overflows, however long it runs.
package struct Market: Sendable {
    /// How many beats a second has.
    package static let beatsPerSecond = 100
    /// How long a beat is.
    package static let beat = Duration.milliseconds(10)

    /// What it is like.
    package let plan: MarketPlan
    /// All symbols with their quotes.
    package private(set) var table: QuoteTable
    /// How many beats have passed.
    package private(set) var beats = 0
    /// How many changes there were.
    package private(set) var changes = 0

    /// When the last beat was, in milliseconds since 1970.
    private var time: Int64
    private var chance: MarketChance
    private var mood: MarketMood
    private var listings: [Listing]
    /// Of each symbol the beat in which it changed last.
    private var changedIn: [Int]
    /// What moves all symbols of a sector, in millionths for each change.
    private var winds: [Int]
    /// Symbols, the lively ones more often, to draw from.
    private let tape: [Int]
    /// What is due of the next change, in parts of ``partsOfChange``.
    private var due = 0
    private static let partsOfChange = 4 * beatsPerSecond

    /// Makes the market as it is before the first beat.
    package init(_ plan: MarketPlan) {
        (self.plan, time) = (plan, plan.opening)
        chance = MarketChance(seed: plan.seed)
        mood = MarketMood(isLively: plan.mood == .lively)
        var listings: [Listing] = []
        for _ in 0..<plan.symbols { listings.append(Listing(&chance)) }
        self.listings = listings
        table = QuoteTable(
            market: plan.opening,
            symbols: listings.enumerated().map { (MarketNames.name(of: $0), $1.firstFigures(at: plan.opening)) })
        changedIn = Array(repeating: 0, count: plan.symbols)
        winds = Array(repeating: 0, count: MarketNames.sectors.count)
        tape = (0..<plan.symbols).flatMap { repeatElement($0, count: 1 + 8 / (1 + $0 / MarketNames.sectors.count)) }
    }

    /// Lets one beat pass, and appends the numbers of the symbols that changed, each once, in order.
    ///
    /// - Parameters:
    ///   - clock: What time it is, in milliseconds since 1970; nil: a beat's length after the one before. It never goes back.
    ///   - changed: What the numbers are appended to.
    package mutating func beat(at clock: Int64? = nil, into changed: inout [Int]) {
        beats += 1
        time = min(max(clock ?? time + 1000 / Int64(Self.beatsPerSecond), time), QuoteFigures.maximum)
        turnWinds()
        due += plan.rate * mood.quarters
        var (count, rest) = due.quotientAndRemainder(dividingBy: Self.partsOfChange)
        due = rest
        count = min(count, plan.symbols)
        changes += count
        let before = changed.count
        if case .news(let symbol) = mood.event, count > 0 {
            change(symbol, into: &changed)
            count -= 1
        }
        if count > plan.symbols / 2 {
            changeMost(count, of: plan.symbols - (changed.count - before), into: &changed)
        } else {
            for _ in 0..<count { change(nextSymbol(), into: &changed) }
        }
    }

    private mutating func turnWinds() {
        if mood.beat(symbols: plan.symbols, &chance), case .news(let symbol) = mood.event { listings[symbol].hearNews(&chance) }
        let sector = chance.below(winds.count)
        winds[sector] = winds[sector] * 3 / 4 + chance.swing() / 100
        if case .run(let sector, let wind) = mood.event { winds[sector] = wind }
    }

    private mutating func change(_ symbol: Int, into changed: inout [Int]) {
        changedIn[symbol] = beats
        let wind = winds[MarketNames.sector(of: symbol)]
        table.update(symbol, to: listings[symbol].figures(after: table[symbol].figures, wind: wind, at: time, &chance))
        changed.append(symbol)
    }

    /// One that has not changed in this beat; at most half of them have.
    private mutating func nextSymbol() -> Int {
        var symbol = tape[chance.below(tape.count)]
        for _ in 0..<8 {
            if case .run(let sector, _) = mood.event, chance.once(in: 2) { symbol = drawn(in: sector) }
            if changedIn[symbol] != beats { return symbol }
            symbol = tape[chance.below(tape.count)]
        }
        // All the lively ones have: then it is the next one's turn.
        while changedIn[symbol] == beats { symbol = (symbol + 1) % plan.symbols }
        return symbol
    }

    private mutating func drawn(in sector: Int) -> Int {
        let count = MarketNames.sectors.count
        return sector + count * chance.below((plan.symbols - sector + count - 1) / count)
    }

    /// When most of them change: goes through all, and takes each with the chance that is left for it.
    private mutating func changeMost(_ count: Int, of unchanged: Int, into changed: inout [Int]) {
        var (wanted, left) = (count, unchanged)
        let start = chance.below(plan.symbols)
        for offset in 0..<plan.symbols where wanted > 0 {
            let symbol = (start + offset) % plan.symbols
            guard changedIn[symbol] != beats else { continue }
            if chance.below(left) < wanted {
                change(symbol, into: &changed)
                wanted -= 1
            }
            left -= 1
        }
    }
}

/// What a synthetic market is like; the same plan gives the same market on every machine.
package struct MarketPlan: Hashable, Sendable {
    /// How even the market's pace is.
    package enum Mood: Hashable, Sendable {
        /// The rate is kept exactly, and nothing special happens.
        case calm
        /// Openings, news of a symbol, runs of a sector and quiet times change the rate, from a quarter to four times.
        case lively
    }

    /// How many symbols a market may have.
    package static let symbolCounts = 1...10_000

    /// How many symbols there are.
    package let symbols: Int
    /// Changes of quotes per second, all symbols together.
    package let rate: Int
    /// What all chance follows from.
    package let seed: UInt64
    /// How even the pace is.
    package let mood: Mood
    /// The time of the first quotes, in milliseconds since 1970; it also names this run of the market.
    package let opening: Int64

    /// Makes a plan; numbers out of range become the nearest in it.
    ///
    /// - Parameters:
    ///   - symbols: How many symbols, see ``symbolCounts``.
    ///   - rate: Changes per second, at least 1 and at most ``highestRate(symbols:)``.
    ///   - seed: What all chance follows from.
    ///   - mood: How even the pace is.
    ///   - opening: The time of the first quotes, in milliseconds since 1970.
    package init(symbols: Int = 500, rate: Int = 2000, seed: UInt64 = 1, mood: Mood = .lively, opening: Int64 = 0) {
        let count = min(max(symbols, Self.symbolCounts.lowerBound), Self.symbolCounts.upperBound)
        (self.symbols, self.seed, self.mood) = (count, seed, mood)
        self.opening = min(max(opening, 0), QuoteFigures.maximum / 2)
        self.rate = min(max(rate, 1), Self.highestRate(symbols: count))
    }

    /// The highest rate that so many symbols can have: each changes at most once in a beat of the market.
    package static func highestRate(symbols: Int) -> Int { symbols * Market.beatsPerSecond }
}

/// What is going on in the market besides the usual.
struct MarketMood: Hashable, Sendable {
    enum Event: Hashable, Sendable {
        /// Nothing.
        case usual
        /// Everybody trades at once.
        case opening
        /// Hardly anybody trades.
        case quiet
        /// One symbol jumps and is traded in every beat.
        case news(symbol: Int)
        /// A sector moves one way; so many millionths for each change.
        case run(sector: Int, wind: Int)
    }

    private let isLively: Bool
    private(set) var event: Event
    private var beatsLeft: Int

    /// A lively market begins with its opening.
    init(isLively: Bool) {
        self.isLively = isLively
        (event, beatsLeft) = isLively ? (.opening, 150) : (.usual, 0)
    }

    /// How many quarters of the usual rate there are now.
    var quarters: Int {
        switch event {
        case .usual, .news: 4
        case .opening: 16
        case .quiet: 1
        case .run: 8
        }
    }

    /// A beat has passed; true if something new has begun.
    mutating func beat(symbols: Int, _ chance: inout MarketChance) -> Bool {
        guard isLively else { return false }
        beatsLeft -= 1
        guard beatsLeft <= 0 else { return false }
        guard event == .usual else {
            (event, beatsLeft) = (.usual, 200 + chance.below(800))
            return true
        }
        event = Self.draw(symbols: symbols, &chance)
        beatsLeft = 50 + chance.below(250)
        return true
    }

    private static func draw(symbols: Int, _ chance: inout MarketChance) -> Event {
        switch chance.below(8) {
        case 0: .opening
        case 1: .quiet
        case 2, 3, 4:
            .run(
                sector: chance.below(min(symbols, MarketNames.sectors.count)),
                wind: (40 + chance.below(120)) * (chance.once(in: 2) ? 1 : -1))
        default: .news(symbol: chance.below(symbols))
        }
    }
}

/// Chance in whole numbers only, so that no rounding of a machine can change a market.
struct MarketChance: Hashable, Sendable {
    private var numbers: SplitMix64

    init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

    /// One of 0, 1, … `bound` - 1.
    mutating func below(_ bound: Int) -> Int {
        // The high half of the product: even enough for bounds far below 2^64.
        Int(numbers.next().multipliedFullWidth(by: UInt64(max(bound, 1))).high)
    }

    /// True once in so many times, on average.
    mutating func once(in times: Int) -> Bool { below(times) == 0 }

    /// About normally distributed around 0; the standard deviation is 1000, and nothing lies beyond 3464.
    mutating func swing() -> Int {
        let bits = numbers.next()
        let sum = (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48)
        // Four even draws of 16 bits: the mean is 131070, the deviation 37837.
        return (Int(sum) - 131_070) * 1000 / 37_837
    }
}

/// Made-up names of symbols, by sector: `BANK`, `SAIL`, …, then `BANK.K3` and so on.
enum MarketNames {
    static let sectors = [
        "BANK", "SAIL", "GRID", "LOOM", "MILL", "PORT", "SEED", "CHIP", "WAVE", "RAIL", "FARM", "STAR", "CORE", "REEF", "DUNE", "MINT",
    ]
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    private static let signs = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")

    /// The sector of a symbol: neighbours are in different ones.
    static func sector(of symbol: Int) -> Int { symbol % sectors.count }

    /// The name of a symbol; no two of a market are the same.
    static func name(of symbol: Int) -> String {
        let (place, sector) = symbol.quotientAndRemainder(dividingBy: sectors.count)
        guard place > 0 else { return sectors[sector] }
        // 365 has no factor in common with the number of suffixes, so every place gets one of its own.
        let suffix = place * 365 % (letters.count * signs.count)
        return "\(sectors[sector]).\(letters[suffix / signs.count])\(signs[suffix % signs.count])"
    }
}

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
