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
