import CodecCore
import MachineCore

/// The broker of a realm: subscriptions, and the delivery of events.
///
/// Each subscription of a session gets its own copy of an event, under the same publication ID. Source: WAMP, "Publish and Subscribe".
struct Broker: Sendable {
    let policy: RouterPolicy
    private var chance: SplitMix64
    var subscriptions: [WAMPID: BrokerSubscription] = [:]
    var index = PatternIndex<WAMPID>()
    /// The subscriptions of each session.
    var held: [WAMPID: Set<WAMPID>] = [:]
    /// The bytes of these subscriptions, per session.
    private var heldBytes: [WAMPID: Int] = [:]
    private var allHeldBytes = 0
    var retained = RetainedEvents()
    /// The bytes of all histories.
    var historyBytes = 0
    /// Subscriptions without subscribers that are kept for their history; the one that was left first comes first.
    var lingering: [WAMPID] = []
    /// The pending events for the meta API.
    var metaEvents: [MetaEvent] = []

    /// Creates a broker without subscriptions.
    init(policy: RouterPolicy, seed: UInt64) { (self.policy, chance) = (policy, SplitMix64(seed: seed)) }

    /// Whether the broker holds nothing.
    var isEmpty: Bool {
        subscriptions.isEmpty && index.isEmpty && held.isEmpty && retained.isEmpty && lingering.isEmpty && metaEvents.isEmpty
    }

    /// The approximate number of bytes kept.
    var keptBytes: Int { retained.bytes + historyBytes + allHeldBytes }

    /// Returns the approximate number of bytes kept for a present session.
    func keptBytes(by session: WAMPID) -> Int { retained.bytes(of: session) + heldBytes[session, default: 0] }

    mutating func drawID() -> WAMPID { chance.nextWAMPID() }

    /// Handles a SUBSCRIBE.
    ///
    /// - Returns: A description of a protocol violation, or nil.
    mutating func subscribe(
        _ request: WAMPID, _ options: ValueMap, _ uri: String, by subscriber: Participant, room: RetentionBudget, at now: Moment,
        into effects: inout [RouterEffect]
    ) -> String? {
        let (name, wantsRetained): (String?, Bool)
        do throws(OptionError) {
            (name, wantsRetained) = (try options.text("match"), try options.flag("get_retained") ?? false)
        } catch { return error.words }
        func refuse(_ uri: String, _ words: String) -> String? {
            effects.append(.refuse(.subscribe, request, of: subscriber, uri, words))
            return nil
        }
        guard let match = WAMPMatch(rawValue: name ?? WAMPMatch.exact.rawValue) else {
            return refuse(WAMPURI.Error.invalidArgument, "unknown match policy")
        }
        guard policy.allows(pattern: uri, match) else { return refuse(WAMPURI.Error.invalidURI, "the topic URI is invalid") }
        let present = index[uri, match]
        let isNew = !(present.flatMap { subscriptions[$0] }?.contains(subscriber.session) ?? false)
        if isNew, held[subscriber.session, default: []].count >= policy.maximumSubscriptions {
            return refuse(WAMPURI.Error.unavailable, "too many subscriptions")
        }
        guard !isNew || room.holds(RetentionBudget.weight(of: uri, match)) else { return refuse(room.refusal.uri, room.refusal.words) }
        let id = present ?? make(uri, match, by: subscriber, at: now)
        effects.append(.send(.subscribed(request: request, subscription: id), to: subscriber.connection))
        if isNew {
            if subscriptions[id]?.isEmpty == true { lingersNoLonger(id) }
            subscriptions[id]?.add(subscriber)
            held[subscriber.session, default: []].insert(id)
            hold(RetentionBudget.weight(of: uri, match), by: subscriber.session)
            notify(.subscribed(subscriber.session, subscription: id), of: id)
        }
        if wantsRetained { replay(id, to: subscriber, into: &effects) }
        return nil
    }

    /// Handles an UNSUBSCRIBE.
    mutating func unsubscribe(
        _ request: WAMPID, subscription id: WAMPID, by subscriber: Participant, into effects: inout [RouterEffect]
    ) {
        guard held[subscriber.session]?.remove(id) != nil else {
            let words = "no such subscription of this session"
            return effects.append(.refuse(.unsubscribe, request, of: subscriber, WAMPURI.Error.noSuchSubscription, words))
        }
        if held[subscriber.session]?.isEmpty == true { held[subscriber.session] = nil }
        effects.append(.send(.unsubscribed(request: request, details: ValueMap()), to: subscriber.connection))
        remove(subscriber.session, from: id)
    }

    /// Removes a session that has ended.
    mutating func leave(_ session: WAMPID) {
        // Sorted, because a set has no order.
        for id in held.removeValue(forKey: session)?.sorted() ?? [] { remove(session, from: id) }
        retained.leave(session)
    }

    /// Revokes a subscription from all its subscribers.
    ///
    /// Source: WAMP, "Subscription Revocation".
    ///
    /// - Returns: Whether there was such a subscription.
    mutating func revoke(_ id: WAMPID, reason: String, into effects: inout [RouterEffect]) -> Bool {
        guard let subscription = subscriptions[id] else { return false }
        for subscriber in subscription.subscribers {
            held[subscriber.session]?.remove(id)
            if held[subscriber.session]?.isEmpty == true { held[subscriber.session] = nil }
            subscriptions[id]?.remove(subscriber.session)
            hold(-RetentionBudget.weight(of: subscription.uri, subscription.match), by: subscriber.session)
            notify(.unsubscribed(subscriber.session, subscription: id), of: id)
            // A client that did not announce this feature must not be told.
            guard subscriber.abilities.contains(.lostSubscriptions), !policy.quirks.concealsRevocation else { continue }
            let details: ValueMap = ["subscription": Value(id), "reason": .text(reason)]
            effects.append(.send(.unsubscribed(request: 0, details: details), to: subscriber.connection))
        }
        lingersNoLonger(id)
        delete(id, by: subscription.subscribers.last?.session)
        return true
    }

    // MARK: Subscriptions

    private mutating func make(_ uri: String, _ match: WAMPMatch, by subscriber: Participant, at now: Moment) -> WAMPID {
        var id = drawID()
        while subscriptions[id] != nil { id = drawID() }
        subscriptions[id] = BrokerSubscription(id: id, uri: uri, match: match, created: now)
        index[uri, match] = id
        notify(.subscriptionCreated(by: subscriber.session, details: details(of: id) ?? ValueMap()), of: id)
        return id
    }

    private mutating func remove(_ session: WAMPID, from id: WAMPID) {
        subscriptions[id]?.remove(session)
        if let found = subscriptions[id] { hold(-RetentionBudget.weight(of: found.uri, found.match), by: session) }
        notify(.unsubscribed(session, subscription: id), of: id)
        guard let subscription = subscriptions[id], subscription.isEmpty else { return }
        guard policy.historyLength > 0, policy.maximumHistories > 0, !subscription.isMeta else { return delete(id, by: session) }
        lingering.append(id)
        historyBytes += RetentionBudget.weight(of: subscription.uri, subscription.match)
        if lingering.count > policy.maximumHistories { dropFirstLingering(by: session) }
    }

    /// Drops the unused subscription that was left first, with its history.
    mutating func dropFirstLingering(by session: WAMPID?) {
        guard let id = lingering.first else { return }
        lingersNoLonger(id)
        delete(id, by: session)
    }

    private mutating func lingersNoLonger(_ id: WAMPID) {
        guard let place = lingering.firstIndex(of: id), let subscription = subscriptions[id] else { return }
        lingering.remove(at: place)
        historyBytes -= RetentionBudget.weight(of: subscription.uri, subscription.match)
    }

    private mutating func delete(_ id: WAMPID, by session: WAMPID?) {
        guard let subscription = subscriptions[id] else { return }
        historyBytes -= subscription.historyBytes
        // No session ends a subscription that is kept only for its history, so no meta event is published for it.
        if let session { notify(.subscriptionDeleted(by: session, subscription: id), of: id) }
        index[subscription.uri, subscription.match] = nil
        subscriptions[id] = nil
    }

    private mutating func hold(_ bytes: Int, by session: WAMPID) {
        allHeldBytes += bytes
        let sum = heldBytes[session, default: 0] + bytes
        heldBytes[session] = sum > 0 ? sum : nil
    }

    private mutating func notify(_ event: MetaEvent, of id: WAMPID) {
        guard policy.hasMetaAPI, subscriptions[id]?.isMeta == false else { return }
        metaEvents.append(event)
    }
}

extension SplitMix64 {
    /// Returns a random ID of global scope.
    ///
    /// Source: WAMP, "Identifiers".
    mutating func nextWAMPID() -> WAMPID { (next() >> 11) + 1 }
}

/// Lookups for the meta API. Source: WAMP, "Subscription Meta API".
extension Broker {
    /// Returns the subscriptions with this match policy, in the order of their IDs.
    func subscriptions(matching match: WAMPMatch) -> [WAMPID] { subscriptions.values.filter { $0.match == match }.map(\.id).sorted() }

    /// Returns a subscription's details: `id`, `created`, `uri`, `match`.
    func details(of id: WAMPID) -> ValueMap? {
        guard let found = subscriptions[id] else { return nil }
        return [
            "id": Value(id), "created": .text("\(policy.time(at: found.created))"), "uri": .text(found.uri),
            "match": .text(found.match.rawValue),
        ]
    }

    /// Returns the sessions with this subscription, in the order of their IDs.
    func subscribers(of id: WAMPID) -> [WAMPID]? { subscriptions[id]?.subscribers.map(\.session).sorted() }

    /// Returns the number of sessions with this subscription.
    func countSubscribers(of id: WAMPID) -> Int? { subscriptions[id]?.subscribers.count }

    /// Returns the last events of a subscription that this session could have received, oldest first.
    func history(of id: WAMPID, for reader: Participant) -> [HistoricEvent]? {
        subscriptions[id]?.history(policy.historyLength).filter {
            $0.concealedFrom != reader.session && $0.audience?.admits(authID: reader.authID, authRole: reader.authRole) ?? true
        }
    }
}
