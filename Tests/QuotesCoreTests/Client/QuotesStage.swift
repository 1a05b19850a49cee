import MachineCore
import ProtocolCore
import QuotesCore

/// A client whose server the test plays.
struct QuotesStage {
    var machine: QuotesMachine
    var now = Moment.start
    private(set) var effects: [QuotesMachine.Effect] = []
    /// The number of times that a connection became ready.
    var readies = 0

    init(rate: Int64? = nil, policy: QuotesPolicy = QuotesPolicy()) { machine = QuotesMachine(rate: rate, policy: policy) }

    /// A client that follows these symbols.
    ///
    /// Their numbers are their indices, and all have version 1 and price 100.
    init(following first: String, _ others: String...) {
        self.init()
        let names = [first] + others
        handle(.command(.subscribe(id: 1, [SymbolPattern("*")!])))
        connect(symbols: names.count)
        snapshot(1, names.enumerated().map { full(UInt32($0.offset), $0.element, 1, 100) })
        effects = []
    }

    mutating func handle(_ input: QuotesMachine.Input) { machine.handle(input, at: now, into: &effects) }

    mutating func connect(market: Int64 = 1, symbols: Int) {
        handle(.opened(nil))
        handle(.received(.welcome(.init(market: market, symbols: Int64(symbols)))))
    }

    mutating func snapshot(
        _ sequence: Int64, _ quotes: [QuotesReply.FullQuote], id: Int64 = 1, round: Int64 = 0, isLast: Bool = true
    ) {
        handle(.received(.snapshot(.init(id: id, sequence: sequence, round: round, isLast: isLast, quotes: quotes))))
    }

    func full(_ symbol: UInt32, _ name: String, _ version: Int64, _ last: Int64) -> QuotesReply.FullQuote {
        .init(symbol: symbol, name: name, state: QuoteState(version: version, figures: .of(last)))
    }

    /// A message that moves the last price of one symbol.
    mutating func tick(_ sequence: Int64, _ symbol: UInt32, _ version: Int64, by difference: Int64) {
        let tick = QuotesReply.Tick(symbol: symbol, version: version, fields: .last, differences: QuoteFigures(last: difference))
        handle(.received(.ticks(.init(sequence: sequence, ticks: [tick]))))
    }

    /// Lets time pass.
    mutating func wait(_ duration: Duration) {
        now = now + duration
        machine.wake(at: now, into: &effects)
    }

    /// The effects since the last call.
    mutating func takeEffects() -> [QuotesMachine.Effect] {
        defer { effects = [] }
        readies += effects.count { $0 == .ready }
        return effects.filter { if case .event(.changed) = $0 { false } else { $0 != .ready } }
    }

    mutating func takeChanges() -> [[Int]] {
        defer { effects = [] }
        return effects.compactMap { if case .event(.changed(let places)) = $0 { places } else { nil } }
    }

    /// The version, the last price and whether it is current.
    ///
    /// Nil if the symbol is not shown.
    func shown(_ symbol: String) -> Shown? {
        guard let place = machine.place(of: symbol), let quote = machine[place] else { return nil }
        return Shown(quote.version, quote.last, quote.isCurrent)
    }

    struct Shown: Equatable {
        let version, last: Int64
        let isCurrent: Bool

        init(_ version: Int64, _ last: Int64, _ isCurrent: Bool = true) {
            (self.version, self.last, self.isCurrent) = (version, last, isCurrent)
        }
    }
}
