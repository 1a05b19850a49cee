package import MachineCore
package import ProtocolCore
import WebSocketCore

/// The client's side: what is known of every symbol, and what to ask for when something was lost.
///
/// A symbol keeps its place for good, over all connections. What is shown of it never goes back: its version only grows, as long as the
/// market is the same.
package struct Book: ProtocolMachine, Hashable {
    package typealias Received = QuotesReply
    package typealias Sent = QuotesRequest
    package typealias Greeting = NoGreeting
    package typealias Input = ProtocolInput<Book>
    package typealias Effect = ProtocolEffect<Book>

    /// Where the book stands.
    package enum Phase: Hashable, Sendable {
        /// No connection. → `greeting` on `opened`.
        case offline
        /// A connection without a welcome yet. → `filling` or `following` on a welcome, → `offline` on `lost`, → `ended` on what cannot be.
        case greeting
        /// Something that was asked for has not come in full. → `following` with the last part, → `offline` on `lost`, → `ended` as above.
        case filling
        /// All that was asked for has come. → `filling` on `subscribe`, a gap or garbage, → `offline` on `lost`, → `ended` as above.
        case following
        /// The connection was given up: nothing of it counts. → `offline` on `lost`.
        case ended
    }
    /// What the app wants.
    package enum Command: Hashable, Sendable {
        /// To see these symbols; ids are not used twice.
        case subscribe(id: Int64, [SymbolPattern])
        /// To see those of this subscription no more.
        case unsubscribe(id: Int64)
    }
    /// What became known.
    package enum Event: Hashable, Sendable {
        /// These places are to be shown anew, each at least once.
        case changed([Int])
        /// The server does not show what a subscription wants, for this reason.
        case refused(id: Int64?, QuotesRefusalCode, String)
    }
    /// What has come of a subscription on this connection.
    enum Standing: Hashable, Sendable {
        /// Not all of it since it was asked for last.
        case awaited
        /// All of it.
        case complete
        /// The server does not have it.
        case refused
    }
    /// What the app wants to see.
    struct Subscription: Hashable, Sendable {
        var id: Int64
        var patterns: [SymbolPattern]
        var standing = Standing.awaited
    }
    /// What is known of a symbol.
    struct Slot: Hashable, Sendable {
        var name: String
        /// What the server sent last: the base of the next differences, while the epoch is the present one.
        var base: QuoteState
        /// The newest that is known; version 0: nothing.
        var shown: QuoteState
        var epoch: UInt64
        /// Somebody wants to see it.
        var isListed: Bool
    }

    package internal(set) var phase = Phase.offline
    package internal(set) var counts = QuoteCounts()
    /// When the last message came that was in its place.
    package internal(set) var heard: Moment?
    let rate: Int64?
    let policy: BookPolicy
    var subscriptions: [Subscription] = []
    var slots: [Slot] = []
    var placeByName: [String: Int] = [:]
    /// For each number of the present connection, the place; -1: none.
    var placeBySymbol: [Int32] = []
    /// Grows whenever all bases become void.
    var epoch: UInt64 = 1
    var market: Int64?
    var symbolCount: Int64 = 0
    var expected: Int64 = 1
    var round: Int64 = 0
    var garbage = 0
    /// When the connection is given up unless something comes.
    var patienceEnds: Moment?
    /// When a resync may be sent.
    var nextResync = Moment.start
    var owesResync = false

    /// A book of nothing.
    ///
    /// - Parameter rate: How many updates a second are wanted at most; nil: as many as come.
    package init(rate: Int64? = nil, policy: BookPolicy = BookPolicy()) { (self.rate, self.policy) = (rate, policy) }

    /// How many places there are; what was once known stays.
    package var count: Int { slots.count }

    /// What to show of a place; nil if nobody wants to see it, or nothing is known.
    package subscript(place: Int) -> Quote? {
        let slot = slots[place]
        guard slot.isListed, slot.shown.version > 0 else { return nil }
        return Quote(symbol: slot.name, state: slot.shown, isCurrent: slot.epoch == epoch)
    }

    /// The symbol at a place.
    package func name(of place: Int) -> String { slots[place].name }

    /// The place of a symbol that was seen.
    package func place(of symbol: String) -> Int? { placeByName[symbol] }

    package var deadline: Moment? { owesResync ? min(nextResync, patienceEnds ?? .distantFuture) : patienceEnds }

    package mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch input {
        case .opened: open(at: now, into: &effects)
        case .lost:
            phase = .offline
            invalidate(into: &effects)
            (patienceEnds, owesResync, placeBySymbol) = (nil, false, [])
        case .received(let reply): if isOpen { receive(reply, at: now, into: &effects) }
        case .undecodable: if isOpen { distrust(at: now, into: &effects) }
        case .paused, .resumed: break
        case .command(.subscribe(let id, let patterns)):
            subscriptions.append(Subscription(id: id, patterns: patterns))
            guard isOpen else { return }
            effects.append(.send(request(for: subscriptions.count - 1)))
            expectMore(at: now)
        case .command(.unsubscribe(let id)): unsubscribe(id, at: now, into: &effects)
        }
    }

    package mutating func wake(at now: Moment, into effects: inout [Effect]) {
        if let patienceEnds, now >= patienceEnds { return giveUp(.silence, into: &effects) }
        if owesResync, now >= nextResync { resync(at: now, into: &effects) }
    }

    var isOpen: Bool {
        switch phase {
        case .offline, .ended: false
        case .greeting, .filling, .following: true
        }
    }

    func request(for index: Int) -> QuotesRequest {
        let subscription = subscriptions[index]
        return .subscribe(id: subscription.id, symbols: subscription.patterns.map(\.description), rate: rate)
    }

    /// Gives the server time for what is asked of it.
    mutating func expectMore(at now: Moment) {
        if phase == .following { phase = .filling }
        patienceEnds = now + policy.patience
    }

    /// Nothing that is known can be the base of a difference any more, nor be shown as current.
    mutating func invalidate(into effects: inout [Effect]) {
        let current = slots.indices.filter { slots[$0].epoch == epoch && slots[$0].isListed }
        epoch += 1
        if !current.isEmpty { effects.append(.event(.changed(current))) }
    }

    /// The connection cannot be trusted.
    mutating func giveUp(_ end: ConnectionEnd, into effects: inout [Effect]) {
        (phase, patienceEnds, owesResync) = (.ended, nil, false)
        invalidate(into: &effects)
        effects.append(.end(end))
    }
}

extension ConnectionEnd {
    /// Nothing of what was asked for came for too long.
    package static let silence = ConnectionEnd.cut(reason: "nothing of what was asked for came")
    /// Too many messages were garbage.
    package static let garbage = ConnectionEnd.reject(.invalidPayload, reason: "too much of it could not be trusted")
    /// The server speaks another version.
    package static func version(_ version: Int64) -> ConnectionEnd {
        .close(.protocolError, reason: "version \(version) is not spoken here")
    }
    /// The server has more symbols than this side takes.
    package static func tooManySymbols(_ count: Int64) -> ConnectionEnd {
        .close(.policyViolation, reason: "\(count) symbols are too many")
    }
}

/// What the app and the link do.
extension Book {
    mutating func open(at now: Moment, into effects: inout [Effect]) {
        phase = .greeting
        invalidate(into: &effects)
        (expected, round, garbage, placeBySymbol) = (1, 0, 0, [])
        (nextResync, owesResync) = (now, false)
        counts.connections += 1
        for index in subscriptions.indices {
            subscriptions[index].standing = .awaited
            effects.append(.send(request(for: index)))
        }
        expectMore(at: now)
    }

    mutating func unsubscribe(_ id: Int64, at now: Moment, into effects: inout [Effect]) {
        guard let index = subscriptions.firstIndex(where: { $0.id == id }) else { return }
        subscriptions.remove(at: index)
        if isOpen { effects.append(.send(.unsubscribe(id: id))) }
        var gone: [Int] = []
        for place in slots.indices where slots[place].isListed && !isWanted(slots[place].name) {
            slots[place].isListed = false
            gone.append(place)
        }
        if !gone.isEmpty { effects.append(.event(.changed(gone))) }
        if isOpen { settle(at: now) }
    }

    func isWanted(_ name: String) -> Bool { subscriptions.contains { $0.patterns.contains { $0.matches(name) } } }

    /// Something was lost: asks for everything again, though not too often.
    mutating func lose(at now: Moment, into effects: inout [Effect]) {
        invalidate(into: &effects)
        for index in subscriptions.indices where subscriptions[index].standing == .complete { subscriptions[index].standing = .awaited }
        // A server that only loses makes no progress, so further losses buy it no time.
        if phase == .following { expectMore(at: now) }
        owesResync = true
        if now >= nextResync { resync(at: now, into: &effects) }
    }

    mutating func resync(at now: Moment, into effects: inout [Effect]) {
        owesResync = false
        nextResync = now + policy.resyncSpacing
        round += 1
        counts.resyncs += 1
        effects.append(.send(.resync(round: round)))
        settle(at: now)
    }

    mutating func distrust(at now: Moment, into effects: inout [Effect]) {
        counts.garbage += 1
        garbage += 1
        if garbage >= policy.garbageLimit { giveUp(.garbage, into: &effects) } else { lose(at: now, into: &effects) }
    }

    /// Waits for nothing more but a sign of life, if all that was asked for has come.
    mutating func settle(at now: Moment) {
        if phase == .filling, !owesResync, subscriptions.allSatisfy({ $0.standing != .awaited }) {
            (phase, patienceEnds) = (.following, nil)
        }
        if phase == .following, hasBeat != (patienceEnds != nil) { awaitBeat(at: now) }
    }

    /// Gives the server time to say that it lives.
    mutating func awaitBeat(at now: Moment) { patienceEnds = hasBeat ? now + policy.silence : nil }

    /// Whether the server says every now and then that it lives: to those who see something, and not to others.
    var hasBeat: Bool { subscriptions.contains { $0.standing == .complete } }
}

/// How patient a client of quotes is.
package struct BookPolicy: Hashable, Sendable {
    /// How long nothing of an unfinished snapshot may come, nor a welcome, before the connection is given up.
    package var patience: Duration
    /// How long nothing at all may come: a server that has nothing to tell says so every five seconds.
    package var silence: Duration
    /// The least time from one resync to the next: a lossy server is not asked for everything at every gap.
    package var resyncSpacing: Duration
    /// How many messages of one connection may be garbage before it is closed.
    package var garbageLimit: Int

    package init(
        patience: Duration = .seconds(10), silence: Duration = .seconds(15), resyncSpacing: Duration = .milliseconds(200),
        garbageLimit: Int = 3
    ) {
        (self.patience, self.silence, self.resyncSpacing, self.garbageLimit) = (patience, silence, resyncSpacing, garbageLimit)
    }
}

/// What a feed of quotes has seen so far, over all its connections.
public struct QuoteCounts: Hashable, Sendable {
    /// Connections that were opened.
    public var connections: UInt64 = 0
    /// Messages that were taken: parts of snapshots, and ticks.
    public var messages: UInt64 = 0
    /// Quotes that came in full.
    public var quotes: UInt64 = 0
    /// Changes that came.
    public var ticks: UInt64 = 0
    /// Changes that the server overwrote before it could send them, as it told.
    public var conflated: UInt64 = 0
    /// Quotes and ticks that were not newer than what was known, and so not shown.
    public var stale: UInt64 = 0
    /// Messages that had come before.
    public var duplicates: UInt64 = 0
    /// Holes in the sequence of messages.
    public var gaps: UInt64 = 0
    /// How often everything was asked for again, after a gap or garbage.
    public var resyncs: UInt64 = 0
    /// Messages that could not be trusted.
    public var garbage: UInt64 = 0

    /// Nothing yet.
    public init() {}
}
