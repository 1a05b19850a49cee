package import MachineCore

/// The server's side of one client: what it wants to see, what it was sent, and which message comes next.
///
/// It holds no message and no backlog: the owner asks for the ``next(from:at:)`` message when the one before has left, and that is made of the
/// market's present figures. So its size is bounded by the number of symbols, however slow the client is.
package struct Feed: Hashable, Sendable {
    /// What the client asked to see.
    struct Subscription: Hashable, Sendable {
        var id: Int64
        var patterns: [SymbolPattern]
    }
    /// A snapshot that is not complete.
    struct Scan: Hashable, Sendable {
        /// Whose it is: the place in ``subscriptions``.
        var slot: Int
        /// The symbol to look at next.
        var symbol = 0
    }

    private let welcome: QuotesReply.Welcome
    private var hasWelcomed = false
    /// By slot; the slot is the bit in ``wanted``.
    var subscriptions: [Subscription?] = []
    /// The slots, as the client has subscribed.
    var order: [Int] = []
    var scans: [Scan] = []
    var round: Int64 = 0
    var refusals: [QuotesReply.Refusal] = []
    /// For each symbol, which subscriptions have shown it to the client.
    var wanted: [UInt64]
    /// For each symbol, what was sent last.
    var sent: [QuoteState]
    var changes = ChangeList()
    var pace = UpdatePace()
    private var sequence: Int64 = 0
    private var lastMessage: Moment?
    /// What was sent so far.
    package internal(set) var counts = FeedCounts()
    /// Whether the client has asked for so much nonsense without reading the answers that the owner closes with 1008.
    package internal(set) var isAbused = false

    /// The feed of a client that has just connected.
    package init(of table: QuoteTable) {
        welcome = QuotesReply.Welcome(market: table.market, symbols: Int64(table.count))
        wanted = Array(repeating: 0, count: table.count)
        sent = Array(repeating: QuoteState(version: 0, figures: QuoteFigures()), count: table.count)
    }

    /// When to ask for the next message after there was none, if the client asks for nothing and nothing changes; nil: never.
    package var deadline: Moment? {
        let change = changes.isEmpty ? nil : pace.next
        guard let beat = nextBeat else { return change }
        return min(beat, change ?? beat)
    }

    /// Notes that the figures of a symbol have changed.
    package mutating func note(changed symbol: Int) {
        if wanted[symbol] != 0 { changes.note(symbol) }
    }

    /// The message that goes out next, made of the present figures; nil while there is nothing to say, or it is too early.
    ///
    /// To be asked when the client can take a message: a list of changes waits for free, a message does not.
    package mutating func next(from table: QuoteTable, at now: Moment) -> QuotesReply? {
        if !hasWelcomed {
            hasWelcomed = true
            return .welcome(welcome)
        }
        if !refusals.isEmpty { return .refusal(refusals.removeFirst()) }
        if !scans.isEmpty { return .snapshot(nextPart(from: table, at: now)) }
        if let ticks = nextTicks(from: table, at: now) { return .ticks(ticks) }
        // An empty message shows that the server lives, and its number whether the one before it was lost.
        guard let nextBeat, now >= nextBeat else { return nil }
        return .ticks(QuotesReply.Ticks(sequence: nextSequence(at: now), ticks: []))
    }

    private var nextBeat: Moment? { order.isEmpty ? nil : lastMessage.map { $0 + QuotesLimits.beat } }

    private mutating func nextPart(from table: QuoteTable, at now: Moment) -> QuotesReply.SnapshotPart {
        let slot = scans[0].slot
        let subscription = subscriptions[slot]
        var quotes: [QuotesReply.FullQuote] = []
        var symbol = scans[0].symbol
        // The market waits while this looks for symbols, so it looks at no more of them than it can in a moment.
        let end = min(table.count, symbol + max(QuotesLimits.patternsTried / max(subscription?.patterns.count ?? 1, 1), 1))
        while symbol < end, quotes.count < QuotesLimits.quotesSent {
            let name = table.names[symbol]
            if subscription?.patterns.contains(where: { $0.matches(name) }) ?? false {
                wanted[symbol] |= 1 << UInt64(slot)
                sent[symbol] = table[symbol]
                quotes.append(QuotesReply.FullQuote(symbol: UInt32(symbol), name: name, state: table[symbol]))
            }
            symbol += 1
        }
        scans[0].symbol = symbol
        let isLast = symbol == table.count
        if isLast { scans.removeFirst() }
        counts.quotes += UInt64(quotes.count)
        return QuotesReply.SnapshotPart(
            id: subscription?.id ?? 0, sequence: nextSequence(at: now), round: round, isLast: isLast, quotes: quotes)
    }

    private mutating func nextTicks(from table: QuoteTable, at now: Moment) -> QuotesReply.Ticks? {
        var ticks: [QuotesReply.Tick] = []
        var conflated: Int64 = 0
        pace.open(with: changes.count, at: now)
        while ticks.count < QuotesLimits.ticksSent, pace.take(), let symbol = changes.popFirst() {
            let (old, new) = (sent[symbol], table[symbol])
            // It may be unwanted by now, or have come in a snapshot.
            guard wanted[symbol] != 0, new.version > old.version else { continue }
            conflated += new.version - old.version - 1
            sent[symbol] = new
            ticks.append(
                QuotesReply.Tick(
                    symbol: UInt32(symbol), version: new.version, fields: new.figures.fields(differingFrom: old.figures),
                    differences: new.figures.differences(from: old.figures)))
        }
        guard !ticks.isEmpty else { return nil }
        pace.sent(at: now)
        counts.ticks += UInt64(ticks.count)
        counts.conflated += UInt64(conflated)
        return QuotesReply.Ticks(sequence: nextSequence(at: now), conflated: conflated, ticks: ticks)
    }

    private mutating func nextSequence(at now: Moment) -> Int64 {
        sequence += 1
        counts.messages += 1
        lastMessage = now
        return sequence
    }
}
