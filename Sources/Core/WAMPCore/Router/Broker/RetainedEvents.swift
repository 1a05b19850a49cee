import CodecCore

/// An event that a topic retains for later subscribers.
struct RetainedEvent: Hashable, Sendable {
    let topic: String
    let publication: WAMPID
    let details: ValueMap
    let arguments: WAMPArguments
    let audience: Audience?
    /// The session that does not get the event, because it published it.
    let excluded: WAMPID?
    /// The session that published the event, while it is present.
    fileprivate(set) var owner: WAMPID?
    /// The user or address whose share the event counts for after the publisher has left.
    let holder: RetentionOwner?
    /// The approximate number of bytes kept.
    let weight: Int
    /// The position of the event in the order of all retained events.
    fileprivate(set) var turn: UInt64 = 0

    /// Creates the retained event of a publication.
    init(_ publication: BrokerPublication, id: WAMPID, by publisher: Participant?, owner: WAMPID?, details: ValueMap) {
        (topic, self.publication, self.details) = (publication.topic, id, details)
        (arguments, audience) = (publication.arguments, publication.audience)
        (excluded, self.owner) = (publication.excludesMe ? publisher?.session : nil, owner)
        holder = publisher?.holder
        weight = publication.weight
    }

    func isFor(_ subscriber: Participant) -> Bool { subscriber.session != excluded && audience?.admits(subscriber) ?? true }
}

/// The retained events of a realm.
///
/// Source: WAMP, "Event Retention".
///
/// A topic keeps its last event for all sessions, and a few later ones for certain sessions. So every subscriber gets the last event that
/// it would have received. The events outlive their publisher. Then they are dropped when space is needed: first the oldest events of the
/// user or address that has left the most. So nobody can force out the events of all others.
struct RetainedEvents: Hashable, Sendable {
    /// The maximum number of events for certain sessions that a topic keeps besides the one for all.
    static let limited = 4
    /// The maximum number of retained events that a new subscriber gets, because a pattern may match many topics.
    static let replayed = 1000
    /// The approximate maximum of their bytes, unless a single event is longer; the subscriber gets them all at once.
    static let replayedBytes = 1024 * 1024

    /// The decision on an event.
    enum Verdict: Hashable {
        /// It is retained.
        case kept
        /// There are too many events: it is delivered, but not retained.
        case tooMany
        /// It exceeds the available bytes.
        case tooMuch
    }
    /// The share of a present session.
    private struct Share: Hashable {
        var bytes = 0
        var topics: Set<String> = []
    }
    /// An event whose publisher has left.
    private struct Departed: Hashable {
        let topic: String
        let turn: UInt64
    }
    /// The events that the sessions of one user or address have left behind.
    private struct Leavings: Hashable {
        var bytes = 0
        var count = 0
        /// The events in the order in which they were left; some of them have been dropped since.
        var queue: [Departed] = []
        /// The index before which all events have been dropped.
        var first = 0
    }

    private var topics: [String: [RetainedEvent]] = [:]
    private var count = 0
    private var turns: UInt64 = 0
    /// The approximate number of bytes of all events.
    private(set) var bytes = 0
    private var shares: [WAMPID: Share] = [:]
    private var left: [RetentionOwner?: Leavings] = [:]
    /// The number of bytes of the events whose publishers have left.
    private(set) var leftBytes = 0
    /// Sessions that keep fewer bytes than before, because another session has published to their topics.
    private var displaced: Set<WAMPID> = []

    /// Creates an empty store of events.
    init() {}

    var isEmpty: Bool { topics.isEmpty }

    /// Returns the number of bytes that a present session keeps.
    func bytes(of session: WAMPID) -> Int { shares[session]?.bytes ?? 0 }

    /// Retains an event, unless there are too many or it takes too many bytes.
    mutating func keep(_ event: RetainedEvent, bound: Int, room: RetentionBudget) -> Verdict {
        let before = topics[event.topic] ?? []
        var after = before
        if event.audience == nil {
            after = []
        } else if after.count(where: { $0.audience != nil }) == Self.limited, let oldest = after.firstIndex(where: { $0.audience != nil }) {
            after.remove(at: oldest)
        }
        guard count - before.count + after.count < bound else { return .tooMany }
        let replaced = before.filter { event in !after.contains { $0.turn == event.turn } }
        let freed = replaced.reduce(0) { $0 + $1.weight }
        let ownFreed = replaced.reduce(0) { $0 + (event.owner != nil && $1.owner == event.owner ? $1.weight : 0) }
        let leftFreed = replaced.reduce(0) { $0 + ($1.owner == nil ? $1.weight : 0) }
        guard event.weight - ownFreed <= room.session, event.weight - freed - (leftBytes - leftFreed) <= room.all else { return .tooMuch }
        for other in replaced {
            remove(other)
            if let owner = other.owner, owner != event.owner { displaced.insert(owner) }
        }
        makeRoom(event.weight - freed - room.all)
        add(event)
        return .kept
    }

    /// Records that a session has left: its events stay until others need the space.
    mutating func leave(_ session: WAMPID) {
        guard let share = shares.removeValue(forKey: session) else { return }
        var own: [RetainedEvent] = []
        for topic in share.topics {
            guard var events = topics[topic] else { continue }
            for place in events.indices where events[place].owner == session {
                events[place].owner = nil
                own.append(events[place])
            }
            topics[topic] = events
        }
        // A set has no order of its own.
        for event in own.sorted(by: { $0.turn < $1.turn }) { noteLeft(event) }
    }

    /// Returns the sessions that keep less because of other sessions, since the last call.
    mutating func takeDisplaced() -> Set<WAMPID> {
        guard !displaced.isEmpty else { return [] }
        defer { displaced = [] }
        return displaced
    }

    /// Returns the events for a new subscriber: the last one of each topic that it may get, in the order of their publication.
    func events(of uri: String, _ match: WAMPMatch, for subscriber: Participant) -> [RetainedEvent] {
        func last(_ events: [RetainedEvent]) -> RetainedEvent? { events.last { $0.isFor(subscriber) } }
        guard match != .exact else { return topics[uri].flatMap(last).map { [$0] } ?? [] }
        let pattern = TopicKey(uri, match: match)
        let found = topics.compactMap { topic, events in pattern.matches(topic) ? last(events) : nil }
        let last = found.sorted { $0.turn < $1.turn }.suffix(Self.replayed)
        var (room, count) = (Self.replayedBytes, 0)
        for event in last.reversed() {
            room -= event.arguments.weight + event.topic.utf8.count + 256
            if room < 0, count > 0 { break }
            count += 1
        }
        return last.suffix(count)
    }

    private mutating func add(_ event: RetainedEvent) {
        turns += 1
        var event = event
        event.turn = turns
        topics[event.topic, default: []].append(event)
        count += 1
        bytes += event.weight
        if let owner = event.owner {
            shares[owner, default: Share()].bytes += event.weight
            shares[owner]?.topics.insert(event.topic)
        } else {
            noteLeft(event)
        }
    }

    private mutating func remove(_ event: RetainedEvent) {
        topics[event.topic]?.removeAll { $0.turn == event.turn }
        let others = topics[event.topic] ?? []
        if others.isEmpty { topics[event.topic] = nil }
        count -= 1
        bytes -= event.weight
        guard let owner = event.owner else {
            leftBytes -= event.weight
            left[event.holder]?.bytes -= event.weight
            left[event.holder]?.count -= 1
            if left[event.holder]?.count == 0 { left[event.holder] = nil }
            return
        }
        shares[owner]?.bytes -= event.weight
        if !others.contains(where: { $0.owner == owner }) { shares[owner]?.topics.remove(event.topic) }
        if shares[owner]?.topics.isEmpty == true { shares[owner] = nil }
    }

    /// Drops events whose publishers have left, until this many bytes are free.
    mutating func makeRoom(_ needed: Int) {
        var needed = needed
        while needed > 0, let (holder, most) = left.max(by: { isLess($0.value, $1.value) }).map({ ($0.key, $0.value.bytes) }) {
            // Drop half of the share at once, because finding the largest share is slow.
            while needed > 0, left[holder]?.bytes ?? 0 >= most / 2, let event = firstLeft(by: holder) {
                needed -= event.weight
                remove(event)
            }
        }
    }

    /// Compares two shares; of two equal ones, the one with older events counts as greater.
    private func isLess(_ one: Leavings, _ other: Leavings) -> Bool {
        one.bytes != other.bytes ? one.bytes < other.bytes : one.queue[one.first].turn > other.queue[other.first].turn
    }

    /// Returns the oldest event left by a holder.
    private mutating func firstLeft(by holder: RetentionOwner?) -> RetainedEvent? {
        while let leavings = left[holder], leavings.first < leavings.queue.count {
            if let event = event(leavings.queue[leavings.first]) { return event }
            left[holder]?.first += 1
        }
        return nil
    }

    private func event(_ left: Departed) -> RetainedEvent? { topics[left.topic]?.first { $0.turn == left.turn } }

    /// Records that the publisher of an event has left.
    private mutating func noteLeft(_ event: RetainedEvent) {
        leftBytes += event.weight
        left[event.holder, default: Leavings()].bytes += event.weight
        left[event.holder]?.count += 1
        left[event.holder]?.queue.append(Departed(topic: event.topic, turn: event.turn))
        // Clean up only now and then, so that the cost per event is small.
        guard let leavings = left[event.holder], leavings.queue.count > 2 * leavings.count + 32 else { return }
        let present = leavings.queue.filter { self.event($0) != nil }
        left[event.holder]?.queue = present
        left[event.holder]?.first = 0
    }
}
