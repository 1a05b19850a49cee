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
