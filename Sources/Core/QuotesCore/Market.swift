internal import MachineCore

/// A synthetic market whose quotes change randomly in each beat.
///
/// Everything but the time is determined by the ``MarketPlan`` and the number of beats. Prices move randomly with phases of high
/// volatility, sectors move together, and in a lively market special events occur. Prices are positive, a bid is below its ask, and nothing
/// overflows, however long it runs.
package struct Market: Sendable {
    /// The number of beats per second.
    package static let beatsPerSecond = 100
    /// The duration of a beat.
    package static let beat = Duration.milliseconds(10)

    /// The parameters of the market.
    package let plan: MarketPlan
    /// All symbols with their quotes.
    package private(set) var table: QuoteTable
    /// The number of beats so far.
    package private(set) var beats = 0
    /// The number of changes so far.
    package private(set) var changes = 0

    /// The time of the last beat, in milliseconds since 1970.
    private var time: Int64
    private var chance: MarketChance
    private var mood: MarketMood
    private var listings: [Listing]
    /// For each symbol, the beat of its last change.
    private var changedIn: [Int]
    /// For each sector, the common movement of its symbols, in millionths per change.
    private var winds: [Int]
    /// The symbols to draw from; active ones appear more often.
    private let tape: [Int]
    /// The accumulated part of the next change, in units of ``partsOfChange``.
    private var due = 0
    private static let partsOfChange = 4 * beatsPerSecond

    /// Creates the market before its first beat.
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

    /// Advances the market by one beat, and appends the numbers of the changed symbols, each once, in order.
    ///
    /// - Parameters:
    ///   - clock: The time in milliseconds since 1970; nil for the previous time plus one beat. The time never goes backwards.
    ///   - changed: The list to append to.
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
        if mood.beat(symbols: plan.symbols, &chance), case .news(let symbol) = mood.event { listings[symbol].reactToNews(&chance) }
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

    /// Returns a symbol that has not changed in this beat.
    ///
    /// At most half of them have.
    private mutating func nextSymbol() -> Int {
        var symbol = tape[chance.below(tape.count)]
        for _ in 0..<8 {
            if case .run(let sector, _) = mood.event, chance.once(in: 2) { symbol = drawn(in: sector) }
            if changedIn[symbol] != beats { return symbol }
            symbol = tape[chance.below(tape.count)]
        }
        // If all active symbols have changed, the next unchanged one is used.
        while changedIn[symbol] == beats { symbol = (symbol + 1) % plan.symbols }
        return symbol
    }

    private mutating func drawn(in sector: Int) -> Int {
        let count = MarketNames.sectors.count
        return sector + count * chance.below((plan.symbols - sector + count - 1) / count)
    }

    /// If most symbols change: visits all of them, and selects each with the remaining probability.
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

/// The parameters of a synthetic market.
///
/// The same plan gives the same market on every machine.
package struct MarketPlan: Hashable, Sendable {
    /// How steady the market's rate is.
    package enum Mood: Hashable, Sendable {
        /// The rate is exact, and no special events occur.
        case calm
        /// Openings, news of a symbol, runs of a sector and quiet times change the rate, from a quarter to four times.
        case lively
    }

    /// The allowed number of symbols.
    package static let symbolCounts = 1...10_000

    /// The number of symbols.
    package let symbols: Int
    /// The number of changes per second, over all symbols.
    package let rate: Int
    /// The seed of all random numbers.
    package let seed: UInt64
    /// How steady the rate is.
    package let mood: Mood
    /// The time of the first quotes, in milliseconds since 1970.
    ///
    /// It also identifies this run of the market.
    package let opening: Int64

    /// Creates a plan.
    ///
    /// Values out of range are limited to it.
    ///
    /// - Parameters:
    ///   - symbols: The number of symbols, see ``symbolCounts``.
    ///   - rate: Changes per second, at least 1 and at most ``highestRate(symbols:)``.
    ///   - seed: The seed of all random numbers.
    ///   - mood: How steady the rate is.
    ///   - opening: The time of the first quotes, in milliseconds since 1970.
    package init(symbols: Int = 500, rate: Int = 2000, seed: UInt64 = 1, mood: Mood = .lively, opening: Int64 = 0) {
        let count = min(max(symbols, Self.symbolCounts.lowerBound), Self.symbolCounts.upperBound)
        (self.symbols, self.seed, self.mood) = (count, seed, mood)
        self.opening = min(max(opening, 0), QuoteFigures.maximum / 2)
        self.rate = min(max(rate, 1), Self.highestRate(symbols: count))
    }

    /// Returns the highest rate for this many symbols: each changes at most once per beat.
    package static func highestRate(symbols: Int) -> Int { symbols * Market.beatsPerSecond }
}

/// The current event in the market.
struct MarketMood: Hashable, Sendable {
    enum Event: Hashable, Sendable {
        /// No event.
        case usual
        /// Heavy trading of all symbols.
        case opening
        /// Very little trading.
        case quiet
        /// One symbol jumps and changes in every beat.
        case news(symbol: Int)
        /// A sector moves in one direction, by this many millionths per change.
        case run(sector: Int, wind: Int)
    }

    private let isLively: Bool
    private(set) var event: Event
    private var beatsLeft: Int

    /// Creates the mood.
    ///
    /// A lively market begins with its opening.
    init(isLively: Bool) {
        self.isLively = isLively
        (event, beatsLeft) = isLively ? (.opening, 150) : (.usual, 0)
    }

    /// The present rate, in quarters of the usual rate.
    var quarters: Int {
        switch event {
        case .usual, .news: 4
        case .opening: 16
        case .quiet: 1
        case .run: 8
        }
    }

    /// Advances by one beat; returns true if the event has changed.
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

/// Random whole numbers, so that rounding differences between machines cannot change a market.
struct MarketChance: Hashable, Sendable {
    private var numbers: SplitMix64

    init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

    /// Returns a number in 0..<`bound`.
    mutating func below(_ bound: Int) -> Int {
        // The high half of the product is uniform enough for bounds far below 2^64.
        Int(numbers.next().multipliedFullWidth(by: UInt64(max(bound, 1))).high)
    }

    /// Returns true once in this many calls, on average.
    mutating func once(in times: Int) -> Bool { below(times) == 0 }

    /// Returns an approximately normally distributed number with mean 0, standard deviation 1000 and at most 3464 from 0.
    mutating func swing() -> Int {
        let bits = numbers.next()
        let sum = (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48)
        // The sum of four uniform 16-bit numbers has the mean 131070 and the standard deviation 37837.
        return (Int(sum) - 131_070) * 1000 / 37_837
    }
}

/// Invented symbol names, by sector: `BANK`, `SAIL`, …, then `BANK.K3` and so on.
enum MarketNames {
    static let sectors = [
        "BANK", "SAIL", "GRID", "LOOM", "MILL", "PORT", "SEED", "CHIP", "WAVE", "RAIL", "FARM", "STAR", "CORE", "REEF", "DUNE", "MINT",
    ]
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    private static let signs = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")

    /// Returns the sector of a symbol.
    ///
    /// Adjacent symbols are in different sectors.
    static func sector(of symbol: Int) -> Int { symbol % sectors.count }

    /// Returns the name of a symbol.
    ///
    /// All names in a market differ.
    static func name(of symbol: Int) -> String {
        let (place, sector) = symbol.quotientAndRemainder(dividingBy: sectors.count)
        guard place > 0 else { return sectors[sector] }
        // 365 and the number of suffixes have no common factor, so every place gets its own suffix.
        let suffix = place * 365 % (letters.count * signs.count)
        return "\(sectors[sector]).\(letters[suffix / signs.count])\(signs[suffix % signs.count])"
    }
}

/// The state of one symbol behind its quote: its value and volatility.
struct Listing: Hashable, Sendable {
    /// The number that stands for a price of 1.0000.
    private static let one = 1_000_000
    private static let unitsPerPriceStep = 100
    /// The largest single change, a tenth, in millionths.
    private static let largestMove = 100_000

    /// The initial value, to which it tends to return; in millionths.
    private let home: Int
    /// The present value; from an eighth of ``home`` to eight times.
    private var worth: Int
    /// The usual size of a change, in millionths.
    private let temper: Int
    /// The present size of a change: large changes are followed by large ones for a while.
    private var unrest: Int
    /// The volume of one trade.
    private let lot: Int

    init(_ chance: inout MarketChance) {
        let magnitude = chance.below(11)
        home = (Self.one << magnitude) / 1000 * (1000 + chance.below(1000))
        worth = home
        temper = 60 + chance.below(240)
        unrest = temper
        lot = 1 + chance.below(9) * 10
    }

    /// Returns the figures of its first quote.
    func firstFigures(at time: Int64) -> QuoteFigures {
        let (bid, ask) = sides
        return QuoteFigures(bid: bid, ask: ask, last: bid, time: time)
    }

    /// Handles news: the value jumps, and stays volatile for a while.
    mutating func reactToNews(_ chance: inout MarketChance) {
        move(by: chance.swing() * 15)
        unrest = temper * 10
    }

    /// Moves the value, with the movement of its sector, and returns the new figures.
    ///
    /// Always changes more than the time.
    mutating func figures(after old: QuoteFigures, wind: Int, at time: Int64, _ chance: inout MarketChance) -> QuoteFigures {
        let pull = (home - worth) * 20 / home
        let swing = chance.swing() * unrest / 1000
        move(by: swing + wind + pull)
        // Two parts of the usual size, one of the last change.
        unrest = min((temper * 2 + unrest * 13 + abs(swing)) / 16, temper * 20)
        var new = old
        (new.bid, new.ask, new.time) = (sides.bid, sides.ask, time)
        if (new.bid, new.ask) == (old.bid, old.ask) || chance.once(in: 4) {
            new.last = chance.once(in: 2) ? new.bid : new.ask
            let volume = old.volume + Int64(lot * (1 + chance.below(20)))
            // The volume restarts at 0 before it exceeds the protocol's range.
            new.volume = volume > QuoteFigures.maximum ? 0 : volume
        }
        return new
    }

    private mutating func move(by millionths: Int) {
        let bounded = min(max(millionths, -Self.largestMove), Self.largestMove)
        worth = min(max(worth + worth * bounded / 1_000_000, home / 8), home * 8)
    }

    /// Bid and ask on the price grid: a cent, or a hundredth of a cent below 1.
    ///
    /// The spread grows with volatility and price.
    private var sides: (bid: Int64, ask: Int64) {
        let price = worth / Self.unitsPerPriceStep
        let step = worth < Self.one ? 1 : 100
        let width = min((1 + price / 2_000_000) * (1 + unrest / (temper * 2)), 40)
        let bid = max(price / step - width / 2, 1) * step
        return (Int64(bid), Int64(bid + width * step))
    }
}
