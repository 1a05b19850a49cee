import CodecCore

/// An event that a topic keeps for those who subscribe later.
struct RetainedEvent: Hashable, Sendable {
    let topic: String
    let publication: WAMPID
    let details: ValueMap
    let arguments: WAMPArguments
    let audience: Audience?
    /// The session that does not get it, for it published it.
    let excluded: WAMPID?
    /// The session that published it, while that is present.
    fileprivate(set) var owner: WAMPID?
    /// Whose share it is of what those have left who are gone.
    let holder: KeepingHolder?
    /// How many bytes it takes, about.
    let weight: Int
    /// Its place in time among all others.
    fileprivate(set) var turn: UInt64 = 0

    /// What is to be kept of a publication.
    init(_ publication: Publication, id: WAMPID, by publisher: Participant?, owner: WAMPID?, details: ValueMap) {
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
/// A topic keeps its last event that was for all, and a few later ones that were for some: so everybody gets the last one that it would
/// have received. They outlive their publisher; then they make room for those of others: those of the user or address that has left most,
/// the one left first in front. So nobody can make what all others have left go.
struct RetainedEvents: Hashable, Sendable {
    /// How many events for some a topic keeps beside the one for all.
    static let limited = 4
    /// How many a new subscriber gets at most; a pattern may match many topics.
    static let replayed = 1000
    /// How many bytes of them, about, unless a single one is longer: it gets them all at once, and must be able to take them.
    static let replayedBytes = 1024 * 1024

    /// What becomes of an event.
    enum Verdict: Hashable {
        /// It is kept.
        case kept
        /// There are too many: it is delivered, and not kept.
        case tooMany
        /// It takes more bytes than there are.
        case tooMuch
    }
    /// What a session that is present keeps here.
    private struct Share: Hashable {
        var bytes = 0
        var topics: Set<String> = []
    }
    /// An event whose publisher has left.
    private struct Left: Hashable {
        let topic: String
        let turn: UInt64
    }
    /// What sessions of one user or address have left.
    private struct Leavings: Hashable {
        var bytes = 0
        var count = 0
        /// Events in the order in which they were left, and some that are gone.
        var queue: [Left] = []
        /// Before this place all are gone.
        var first = 0
    }

    private var topics: [String: [RetainedEvent]] = [:]
    private var count = 0
    private var turns: UInt64 = 0
    /// How many bytes all take, about.
    private(set) var bytes = 0
    private var shares: [WAMPID: Share] = [:]
    private var left: [KeepingHolder?: Leavings] = [:]
    /// How many of them are of those who have left.
    private(set) var leftBytes = 0
    /// Sessions that keep fewer bytes here than before, for another has published to their topics.
    private var displaced: Set<WAMPID> = []

    /// No events.
    init() {}

    var isEmpty: Bool { topics.isEmpty }

    /// How many bytes a session that is present keeps.
    func bytes(of session: WAMPID) -> Int { shares[session]?.bytes ?? 0 }

    /// Keeps an event, unless there are too many, or it takes too much.
    mutating func keep(_ event: RetainedEvent, bound: Int, room: KeepingRoom) -> Verdict {
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

    /// A session has left: what it published stays until others need the room.
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

    /// Who keeps less here by another's doing, since this was last asked.
    mutating func takeDisplaced() -> Set<WAMPID> {
        guard !displaced.isEmpty else { return [] }
        defer { displaced = [] }
        return displaced
    }

    /// What a new subscriber gets: the last event for it of each topic, in the order in which they were published.
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

    /// Lets events go whose publishers have left, until so many bytes are free.
    mutating func makeRoom(_ needed: Int) {
        var needed = needed
        while needed > 0, let (holder, most) = left.max(by: { isLess($0.value, $1.value) }).map({ ($0.key, $0.value.bytes) }) {
            // Half of it at once, for it takes its time to find out who has most.
            while needed > 0, left[holder]?.bytes ?? 0 >= most / 2, let event = firstLeft(by: holder) {
                needed -= event.weight
                remove(event)
            }
        }
    }

    /// Of two that have left as much the one comes first whose events are older.
    private func isLess(_ one: Leavings, _ other: Leavings) -> Bool {
        one.bytes != other.bytes ? one.bytes < other.bytes : one.queue[one.first].turn > other.queue[other.first].turn
    }

    /// The event that this one left first.
    private mutating func firstLeft(by holder: KeepingHolder?) -> RetainedEvent? {
        while let leavings = left[holder], leavings.first < leavings.queue.count {
            if let event = event(leavings.queue[leavings.first]) { return event }
            left[holder]?.first += 1
        }
        return nil
    }

    private func event(_ left: Left) -> RetainedEvent? { topics[left.topic]?.first { $0.turn == left.turn } }

    /// The publisher of an event is gone.
    private mutating func noteLeft(_ event: RetainedEvent) {
        leftBytes += event.weight
        left[event.holder, default: Leavings()].bytes += event.weight
        left[event.holder]?.count += 1
        left[event.holder]?.queue.append(Left(topic: event.topic, turn: event.turn))
        // Now and then, so that it costs little for each.
        guard let leavings = left[event.holder], leavings.queue.count > 2 * leavings.count + 32 else { return }
        let present = leavings.queue.filter { self.event($0) != nil }
        left[event.holder]?.queue = present
        left[event.holder]?.first = 0
    }
}
