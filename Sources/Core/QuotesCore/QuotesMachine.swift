package import MachineCore
package import ProtocolCore
import WebSocketCore

/// The client side: the known state of every symbol, and the requests after data was lost.
///
/// A symbol keeps its place across all connections. Its displayed version never decreases while the market is the same.
package struct QuotesMachine: ProtocolMachine, Hashable {
    package typealias Received = QuotesReply
    package typealias Sent = QuotesRequest
    package typealias Greeting = NoGreeting
    package typealias Input = ProtocolInput<QuotesMachine>
    package typealias Effect = ProtocolEffect<QuotesMachine>

    /// The state of the connection.
    package enum Phase: Hashable, Sendable {
        /// No connection. → `greeting` on `opened`.
        case offline
        /// A connection without a welcome yet. → `filling` or `following` on a welcome, → `offline` on `lost`, → `ended` on invalid data.
        case greeting
        /// Some requested data is not complete. → `following` with the last part, → `offline` on `lost`, → `ended` as above.
        case filling
        /// All requested data is complete. → `filling` on `subscribe`, a gap or garbage, → `offline` on `lost`, → `ended` as above.
        case following
        /// The connection was given up: its data is ignored. → `offline` on `lost`.
        case ended
    }
    /// A command from the app.
    package enum Command: Hashable, Sendable {
        /// Show these symbols. Each id may be used only once.
        case subscribe(id: Int64, [SymbolPattern])
        /// Stop showing the symbols of this subscription.
        case unsubscribe(id: Int64)
    }
    /// An event for the app.
    package enum Event: Hashable, Sendable {
        /// The state at these places has changed; each place appears at least once.
        case changed([Int])
        /// The server refused a subscription for this reason.
        case refused(id: Int64?, QuotesRefusalCode, String)
    }
    /// The state of a subscription on this connection.
    enum Standing: Hashable, Sendable {
        /// Requested, and not complete since.
        case awaited
        /// Complete.
        case complete
        /// Refused by the server.
        case refused
    }
    /// A subscription of the app.
    struct Subscription: Hashable, Sendable {
        var id: Int64
        var patterns: [SymbolPattern]
        var standing = Standing.awaited
    }
    /// The known state of a symbol.
    struct Slot: Hashable, Sendable {
        var name: String
        /// The last state from the server: the base of the next differences while the epoch is the present one.
        var base: QuoteState
        /// The newest known state; version 0 if nothing is known.
        var shown: QuoteState
        var epoch: UInt64
        /// Whether the app wants to see it.
        var isListed: Bool
    }

    package internal(set) var phase = Phase.offline
    package internal(set) var counts = QuoteCounts()
    /// When the last message in the correct order was received.
    package internal(set) var heard: Moment?
    let rate: Int64?
    let policy: QuotesPolicy
    var subscriptions: [Subscription] = []
    var slots: [Slot] = []
    var placeByName: [String: Int] = [:]
    /// The place for each symbol number of the present connection; -1 if there is none.
    var placeBySymbol: [Int32] = []
    /// Increases whenever all bases become invalid.
    var epoch: UInt64 = 1
    var market: Int64?
    var symbolCount: Int64 = 0
    var expected: Int64 = 1
    var round: Int64 = 0
    var garbage = 0
    /// When the connection is given up unless a message is received.
    var patienceEnds: Moment?
    /// The earliest moment of the next resync.
    var nextResync = Moment.start
    var owesResync = false

    /// Creates a client without subscriptions.
    ///
    /// - Parameter rate: The maximum number of updates per second; nil for no limit.
    package init(rate: Int64? = nil, policy: QuotesPolicy = QuotesPolicy()) { (self.rate, self.policy) = (rate, policy) }

    /// The number of places.
    ///
    /// Known symbols are never removed.
    package var count: Int { slots.count }

    /// The quote at a place; nil if the app does not want it, or nothing is known.
    package subscript(place: Int) -> Quote? {
        let slot = slots[place]
        guard slot.isListed, slot.shown.version > 0 else { return nil }
        return Quote(symbol: slot.name, state: slot.shown, isCurrent: slot.epoch == epoch)
    }

    /// Returns the symbol at a place.
    package func name(of place: Int) -> String { slots[place].name }

    /// Returns the place of a known symbol.
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

    /// Starts the time limit for requested data.
    mutating func expectMore(at now: Moment) {
        if phase == .following { phase = .filling }
        patienceEnds = now + policy.patience
    }

    /// Marks all known states as outdated: they can no longer be the base of a difference.
    mutating func invalidate(into effects: inout [Effect]) {
        let current = slots.indices.filter { slots[$0].epoch == epoch && slots[$0].isListed }
        epoch += 1
        if !current.isEmpty { effects.append(.event(.changed(current))) }
    }

    /// Gives up a connection that cannot be trusted.
    mutating func giveUp(_ end: ConnectionEnd, into effects: inout [Effect]) {
        (phase, patienceEnds, owesResync) = (.ended, nil, false)
        invalidate(into: &effects)
        effects.append(.end(end))
    }
}

extension ConnectionEnd {
    /// No requested data was received for too long.
    package static let silence = ConnectionEnd.cut(reason: "nothing of what was asked for came")
    /// Too many messages were garbage.
    package static let garbage = ConnectionEnd.reject(.invalidPayload, reason: "too much of it could not be trusted")
    /// The server uses another protocol version.
    package static func version(_ version: Int64) -> ConnectionEnd {
        .close(.protocolError, reason: "version \(version) is not spoken here")
    }
    /// The server has more symbols than this side accepts.
    package static func tooManySymbols(_ count: Int64) -> ConnectionEnd {
        .close(.policyViolation, reason: "\(count) symbols are too many")
    }
}

/// Handling of the connection and of the app's commands.
extension QuotesMachine {
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

    /// Requests everything again after a loss, but not too often.
    mutating func lose(at now: Moment, into effects: inout [Effect]) {
        invalidate(into: &effects)
        for index in subscriptions.indices where subscriptions[index].standing == .complete { subscriptions[index].standing = .awaited }
        // A server that only loses data makes no progress, so further losses do not extend the time limit.
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

    /// Once all requested data is complete, waits only for heartbeats.
    mutating func settle(at now: Moment) {
        if phase == .filling, !owesResync, subscriptions.allSatisfy({ $0.standing != .awaited }) {
            (phase, patienceEnds) = (.following, nil)
        }
        if phase == .following, hasBeat != (patienceEnds != nil) { awaitBeat(at: now) }
    }

    /// Starts the time limit for the next heartbeat.
    mutating func awaitBeat(at now: Moment) { patienceEnds = hasBeat ? now + policy.silence : nil }

    /// Whether the server sends heartbeats: only to clients with a complete subscription.
    var hasBeat: Bool { subscriptions.contains { $0.standing == .complete } }
}

/// The time limits of a quotes client.
package struct QuotesPolicy: Hashable, Sendable {
    /// The longest time without any part of an unfinished snapshot, or without a welcome, before the connection is given up.
    package var patience: Duration
    /// The longest time without any message.
    ///
    /// A server without news sends an empty message every five seconds.
    package var silence: Duration
    /// The minimum time between two resyncs, so that a lossy server is not asked for everything at every gap.
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

/// Counts of a quotes feed over all its connections.
public struct QuoteCounts: Hashable, Sendable {
    /// The number of connections opened.
    public var connections: UInt64 = 0
    /// The number of messages accepted: parts of snapshots, and ticks.
    public var messages: UInt64 = 0
    /// The number of complete quotes received.
    public var quotes: UInt64 = 0
    /// The number of changes received.
    public var ticks: UInt64 = 0
    /// The number of changes that the server overwrote before it could send them, as it reported.
    public var conflated: UInt64 = 0
    /// The number of quotes and ticks that were not newer than the known state, and were ignored.
    public var stale: UInt64 = 0
    /// The number of messages received more than once.
    public var duplicates: UInt64 = 0
    /// The number of gaps in the sequence of messages.
    public var gaps: UInt64 = 0
    /// How often everything was requested again, after a gap or garbage.
    public var resyncs: UInt64 = 0
    /// The number of messages that could not be trusted.
    public var garbage: UInt64 = 0

    /// Creates counts of zero.
    public init() {}
}
