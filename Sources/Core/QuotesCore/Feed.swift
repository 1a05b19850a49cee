package import MachineCore

/// The server side for one client: its subscriptions, the state it was sent, and the next message.
///
/// It stores no messages and has no backlog: the owner asks for the ``next(from:at:)`` message after the previous one was sent, and the
/// message contains the market's present figures. Its size is therefore bounded by the number of symbols, however slow the client is.
package struct Feed: Hashable, Sendable {
    /// A subscription of the client.
    struct Subscription: Hashable, Sendable {
        var id: Int64
        var patterns: [SymbolPattern]
    }
    /// An unfinished snapshot.
    struct Scan: Hashable, Sendable {
        /// Its subscription: the index in ``subscriptions``.
        var slot: Int
        /// The next symbol to check.
        var symbol = 0
    }

    private let welcome: QuotesReply.Welcome
    private var hasWelcomed = false
    /// Indexed by slot; the slot is also the bit in ``wanted``.
    var subscriptions: [Subscription?] = []
    /// The slots in the order of subscription.
    var order: [Int] = []
    var scans: [Scan] = []
    var round: Int64 = 0
    var refusals: [QuotesReply.Refusal] = []
    /// For each symbol, the subscriptions that have shown it to the client.
    var wanted: [UInt64]
    /// For each symbol, the state that was sent last.
    var sent: [QuoteState]
    var changes = ChangeList()
    var pace = UpdatePace()
    private var sequence: Int64 = 0
    private var lastMessage: Moment?
    /// Counts of what was sent.
    package internal(set) var counts = FeedCounts()
    /// Whether the client sent so many invalid requests without reading the answers that the owner closes with 1008.
    package internal(set) var isAbused = false

    /// Creates the feed of a client that has just connected.
    package init(of table: QuoteTable) {
        welcome = QuotesReply.Welcome(market: table.market, symbols: Int64(table.count))
        wanted = Array(repeating: 0, count: table.count)
        sent = Array(repeating: QuoteState(version: 0, figures: QuoteFigures()), count: table.count)
    }

    /// When to ask for the next message if there was none, and neither requests nor changes come; nil for never.
    package var deadline: Moment? {
        let change = changes.isEmpty ? nil : pace.next
        guard let beat = nextBeat else { return change }
        return min(beat, change ?? beat)
    }

    /// Notes that the figures of a symbol have changed.
    package mutating func note(changed symbol: Int) {
        if wanted[symbol] != 0 { changes.note(symbol) }
    }

    /// Returns the next message, with the present figures; nil if there is nothing to send, or it is too early.
    ///
    /// Call it when the client can take a message: a list of changes costs nothing while it waits, a message does.
    package mutating func next(from table: QuoteTable, at now: Moment) -> QuotesReply? {
        if !hasWelcomed {
            hasWelcomed = true
            return .welcome(welcome)
        }
        if !refusals.isEmpty { return .refusal(refusals.removeFirst()) }
        if !scans.isEmpty { return .snapshot(nextPart(from: table, at: now)) }
        if let ticks = nextTicks(from: table, at: now) { return .ticks(ticks) }
        // An empty message shows that the server is alive. Its number shows whether the previous message was lost.
        guard let nextBeat, now >= nextBeat else { return nil }
        return .ticks(QuotesReply.Ticks(sequence: nextSequence(at: now), ticks: []))
    }

    private var nextBeat: Moment? { order.isEmpty ? nil : lastMessage.map { $0 + QuotesLimits.beat } }

    private mutating func nextPart(from table: QuoteTable, at now: Moment) -> QuotesReply.SnapshotPart {
        let slot = scans[0].slot
        let subscription = subscriptions[slot]
        var quotes: [QuotesReply.FullQuote] = []
        var symbol = scans[0].symbol
        // The market waits during this search, so the number of comparisons is limited.
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
            // It may no longer be wanted, or may already be in a snapshot.
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

/// Handling of requests from the client.
extension Feed {
    /// Carries out a request of the client, or refuses it.
    package mutating func receive(_ request: QuotesRequest) {
        switch request {
        case .subscribe(let id, let symbols, let rate): subscribe(id, symbols, rate)
        case .unsubscribe(let id):
            guard let slot = slot(of: id) else {
                return refuse(id, .unknownSubscription, "there is no subscription \(id)")
            }
            remove(slot)
        case .resync(let round): resync(round)
        }
    }

    /// Refuses a request that could not be decoded; `detail` says why.
    package mutating func receiveMalformed(_ detail: String) { refuse(nil, .badRequest, detail) }

    private mutating func subscribe(_ id: Int64, _ symbols: [String], _ rate: Int64?) {
        guard 0...QuotesLimits.subscriptionID ~= id else { return refuse(nil, .badRequest, "the id \(id) is out of its range") }
        guard !symbols.isEmpty else { return refuse(id, .badRequest, "no symbols") }
        if let rate, !(0...QuotesLimits.rate ~= rate) { return refuse(id, .badRequest, "the rate \(rate) is out of its range") }
        guard symbols.count <= QuotesLimits.patterns else {
            return refuse(id, .tooManyPatterns, "\(symbols.count) patterns, at most \(QuotesLimits.patterns) are allowed")
        }
        let patterns = symbols.compactMap { SymbolPattern($0) }
        guard patterns.count == symbols.count else { return refuse(id, .badPattern, "a pattern that no symbol can match") }
        if let old = slot(of: id) { remove(old) }
        guard order.count < QuotesLimits.subscriptions else {
            return refuse(id, .tooManySubscriptions, "at most \(QuotesLimits.subscriptions) at once are allowed")
        }
        if let rate { pace.set(perSecond: rate) }
        let slot = subscriptions.firstIndex { $0 == nil } ?? subscriptions.count
        if slot == subscriptions.count { subscriptions.append(nil) }
        subscriptions[slot] = Subscription(id: id, patterns: patterns)
        order.append(slot)
        scans.append(Scan(slot: slot))
    }

    private mutating func resync(_ round: Int64) {
        guard round > self.round, round <= QuoteFigures.maximum else {
            return refuse(nil, .badRequest, "the round \(round) does not follow \(self.round)")
        }
        self.round = round
        counts.resyncs += 1
        for symbol in wanted.indices { wanted[symbol] = 0 }
        changes.removeAll()
        pace.clear()
        scans = order.map { Scan(slot: $0) }
    }

    private func slot(of id: Int64) -> Int? { order.first { subscriptions[$0]?.id == id } }

    private mutating func remove(_ slot: Int) {
        subscriptions[slot] = nil
        order.removeAll { $0 == slot }
        scans.removeAll { $0.slot == slot }
        for symbol in wanted.indices { wanted[symbol] &= ~(1 << UInt64(slot)) }
    }

    private mutating func refuse(_ id: Int64?, _ code: QuotesRefusalCode, _ message: String) {
        counts.refused += 1
        guard refusals.count < QuotesLimits.unreadErrors else {
            isAbused = true
            return
        }
        refusals.append(QuotesReply.Refusal(id: id, code: code, message: message))
    }
}

/// Counts of the feed of one client.
package struct FeedCounts: Hashable, Sendable {
    /// The number of messages: parts of snapshots, and ticks.
    package var messages: UInt64 = 0
    /// The number of quotes in snapshots.
    package var quotes: UInt64 = 0
    /// The number of changes sent.
    package var ticks: UInt64 = 0
    /// The number of changes overwritten before they could be sent.
    package var conflated: UInt64 = 0
    /// The number of resyncs, after the client lost something.
    package var resyncs: UInt64 = 0
    /// The number of refused requests.
    package var refused: UInt64 = 0

    package init() {}
}

/// Limits the number of updates per second.
///
/// The first goes at once; each later one contains all changes until its time.
struct UpdatePace: Hashable, Sendable {
    /// The time from the start of one update to the start of the next; nil for no limit.
    private var interval: Duration?
    /// When the next update may start; nil for at any time.
    private(set) var next: Moment?
    /// The number of changes left in the present update.
    private var left = 0
    private var isStarting = false

    /// Changes the limit, from the next update on; 0 removes it.
    mutating func set(perSecond rate: Int64) {
        interval = rate > 0 ? .seconds(1) / rate : nil
        if interval == nil { next = nil }
    }

    /// Starts an update with all present changes, if none is running and its time has come.
    mutating func open(with count: Int, at now: Moment) {
        guard left == 0, next.map({ now >= $0 }) ?? true else { return }
        (left, isStarting) = (count, true)
    }

    /// Takes one change of the update; returns false if there are no more.
    mutating func take() -> Bool {
        guard left > 0 else { return false }
        left -= 1
        return true
    }

    /// Notes that a message of the update was sent.
    ///
    /// The first one starts the interval.
    mutating func sent(at now: Moment) {
        if isStarting { next = interval.map { now + $0 } }
        isStarting = false
    }

    /// Discards the rest of the update.
    mutating func clear() { left = 0 }
}

/// The changed places that were not taken yet: each place once, in the order of its first change.
///
/// It holds no values, so a late reader gets the newest ones. Its size is bounded by the number of places.
package struct ChangeList: Hashable, Sendable {
    private var order: [UInt32] = []
    /// How many entries of `order` were already taken.
    private var taken = 0
    private var isListed: [Bool] = []

    package init() {}

    package var isEmpty: Bool { taken == order.count }
    package var count: Int { order.count - taken }

    /// Adds a change; returns false if the place already waits.
    @discardableResult
    package mutating func note(_ place: Int) -> Bool {
        if place >= isListed.count { isListed.append(contentsOf: repeatElement(false, count: place + 1 - isListed.count)) }
        guard !isListed[place] else { return false }
        isListed[place] = true
        order.append(UInt32(truncatingIfNeeded: place))
        return true
    }

    /// Adds changes.
    package mutating func note(_ places: [Int]) { for place in places { note(place) } }

    /// Removes and returns the place whose first change is the oldest.
    package mutating func popFirst() -> Int? {
        guard taken < order.count else { return nil }
        let place = Int(order[taken])
        taken += 1
        isListed[place] = false
        if taken == order.count {
            order.removeAll(keepingCapacity: true)
            taken = 0
        } else if taken > 1024, taken > order.count / 2 {
            order.removeFirst(taken)
            taken = 0
        }
        return place
    }

    package mutating func removeAll() { while popFirst() != nil {} }
}
