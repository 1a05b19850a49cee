import Testing
@testable import QuotesCore

@Suite struct MarketTests {
    private func states(_ market: Market) -> [QuoteState] { (0..<market.table.count).map { market.table[$0] } }

    private func isPlausible(_ figures: QuoteFigures) -> Bool {
        figures.bid > 0 && figures.bid < figures.ask && figures.last > 0 && figures.ask < 400_000_000
    }

    private func ticks(_ plan: MarketPlan, beats: Int) -> (market: Market, changed: [[Int]]) {
        var market = Market(plan)
        var all: [[Int]] = []
        for _ in 0..<beats {
            var changed: [Int] = []
            market.beat(into: &changed)
            all.append(changed)
        }
        return (market, all)
    }

    @Test func `the same seed gives the same ticks`() {
        let plan = MarketPlan(symbols: 120, rate: 3000, seed: 7)
        let (one, other) = (ticks(plan, beats: 2000), ticks(plan, beats: 2000))
        #expect(one.changed == other.changed)
        #expect(one.market.table == other.market.table)
    }

    @Test func `a beat takes the time of the caller's clock, which may stand still but never goes back`() {
        var market = Market(MarketPlan(symbols: 1, rate: .max, mood: .calm, opening: 5000))
        let times = [6000, 5900, nil, .max, .min].map { (clock: Int64?) -> Int64 in
            var changed: [Int] = []
            market.beat(at: clock, into: &changed)
            return market.table[0].figures.time
        }
        #expect(times == [6000, 6000, 6010, QuoteFigures.maximum, QuoteFigures.maximum])
    }

    /// These ticks were recorded once.
    ///
    /// A market on another machine, or of a later version by mistake, would differ.
    @Test func `seed 1 gives these ticks on every machine`() {
        let (market, changed) = ticks(MarketPlan(symbols: 500, rate: 2000, seed: 1), beats: 1000)
        var sum: UInt64 = 14_695_981_039_346_656_037
        for number in changed.joined() { sum = (sum ^ UInt64(number)) &* 1_099_511_628_211 }
        for quote in states(market).map(\.figures) {
            for part in [quote.bid, quote.ask, quote.last, quote.volume] {
                sum = (sum ^ UInt64(bitPattern: part)) &* 1_099_511_628_211
            }
        }
        #expect(sum == 4_645_682_025_646_641_999)
    }

    @Test func `another seed gives other ticks`() {
        let one = ticks(MarketPlan(symbols: 50, seed: 1), beats: 20)
        let other = ticks(MarketPlan(symbols: 50, seed: 2), beats: 20)
        #expect(one.changed != other.changed)
    }

    @Test(arguments: [1, 7, 50, 2000, 49_999])
    func `a calm market keeps its rate exactly`(rate: Int) {
        let (market, changed) = ticks(MarketPlan(symbols: 500, rate: rate, mood: .calm), beats: 300)
        #expect(market.changes == rate * 3)
        #expect(changed.joined().count == rate * 3)
    }

    @Test func `a lively market changes its rate, from a quarter to four times`() {
        let (_, changed) = ticks(MarketPlan(symbols: 500, rate: 2000, seed: 3), beats: 60_000)
        let counts = Set(changed.map(\.count))
        #expect(counts == [5, 20, 40, 80])
    }

    @Test func `no symbol changes twice in a beat`() {
        for rate in [3000, 20_000, 30_000, 50_000] {
            let (_, changed) = ticks(MarketPlan(symbols: 500, rate: rate, seed: 5), beats: 2000)
            #expect(changed.allSatisfy { Set($0).count == $0.count })
        }
    }

    @Test func `every change increases the version by one, and changes more of the quote than its time`() {
        var market = Market(MarketPlan(symbols: 64, rate: 3000, seed: 11))
        for _ in 0..<3000 {
            let before = states(market)
            var changed: [Int] = []
            market.beat(into: &changed)
            let isChanged = Set(changed)
            for symbol in before.indices {
                let (old, new) = (before[symbol], market.table[symbol])
                guard isChanged.contains(symbol) else {
                    #expect(old == new)
                    continue
                }
                #expect(new.version == old.version + 1)
                #expect(!new.figures.fields(differingFrom: old.figures).isSubset(of: .time))
                #expect(new.figures.volume >= old.figures.volume)
                #expect(new.figures.time == Int64(market.beats) * 10)
            }
        }
    }

    @Test(arguments: 0..<6)
    func `prices stay positive and plausible, however long it runs`(seed: Int) {
        var market = Market(MarketPlan(symbols: 40, rate: 4000, seed: UInt64(seed)))
        var changed: [Int] = []
        for beat in 0..<20_000 {
            changed.removeAll(keepingCapacity: true)
            market.beat(into: &changed)
            guard beat.isMultiple(of: 50) else { continue }
            #expect(states(market).allSatisfy { isPlausible($0.figures) })
        }
        #expect(states(market).allSatisfy { $0.figures.volume > 0 })
    }

    @Test func `the symbols of a sector move together, those of different sectors do not`() {
        var market = Market(MarketPlan(symbols: 160, rate: 8000, seed: 9))
        var (together, apart) = (0, 0)
        var last = states(market)
        for _ in 0..<200 {
            for _ in 0..<100 {
                var changed: [Int] = []
                market.beat(into: &changed)
            }
            let signs = zip(last, states(market)).map { ($1.figures.bid - $0.figures.bid).signum() }
            for symbol in 0..<144 {
                together += Int(signs[symbol] * signs[symbol + 16])
                apart += Int(signs[symbol] * signs[symbol + 15])
            }
            last = states(market)
        }
        #expect(together > 1000)
        #expect(abs(apart) < together / 3)
    }

    @Test(arguments: 0..<4)
    func `large moves come in clusters`(seed: UInt64) {
        var chance = MarketChance(seed: seed)
        var listing = Listing(&chance)
        var figures = listing.firstFigures(at: 0)
        var moves: [Double] = []
        for _ in 0..<20_000 {
            let new = listing.figures(after: figures, wind: 0, at: 0, &chance)
            moves.append(Double(abs(new.bid + new.ask - figures.bid - figures.ask)))
            figures = new
        }
        let mean = moves.reduce(0, +) / Double(moves.count)
        let variance = moves.map { ($0 - mean) * ($0 - mean) }.reduce(0, +)
        let covariance = zip(moves, moves.dropFirst(2)).map { ($0 - mean) * ($1 - mean) }.reduce(0, +)
        #expect(covariance / variance > 0.02)
    }

    @Test func `lively symbols change more often than others, and all change`() {
        let (market, _) = ticks(MarketPlan(symbols: 320, rate: 2000, mood: .calm), beats: 6000)
        let versions = states(market).map(\.version)
        #expect(versions.allSatisfy { $0 > 1 })
        #expect(versions[0..<16].reduce(0, +) > 3 * versions[304..<320].reduce(0, +))
    }

    @Test(arguments: [1, 2, 15, 16, 17, 500, 10_000])
    func `any number of symbols have different names`(count: Int) {
        let market = Market(MarketPlan(symbols: count))
        #expect(Set(market.table.names).count == count)
        #expect(market.table.names[0] == "BANK")
        #expect(market.table.names.allSatisfy { $0.utf8.count <= 7 })
    }

    @Test func `a volume starts again before it is too large for the wire`() {
        var chance = MarketChance(seed: 1)
        var listing = Listing(&chance)
        var figures = listing.firstFigures(at: 0)
        figures.volume = QuoteFigures.maximum
        for _ in 0..<100 { figures = listing.figures(after: figures, wind: 0, at: 0, &chance) }
        #expect(0..<1_000_000 ~= figures.volume)
    }

    @Test func `a plan out of range becomes the nearest valid one`() {
        #expect(MarketPlan(symbols: 0, rate: 0) == MarketPlan(symbols: 1, rate: 1))
        #expect(MarketPlan(symbols: .max, rate: .max) == MarketPlan(symbols: 10_000, rate: 1_000_000))
        var market = Market(MarketPlan(symbols: 1, rate: .max))
        var changed: [Int] = []
        market.beat(into: &changed)
        #expect(changed == [0])
    }
}
