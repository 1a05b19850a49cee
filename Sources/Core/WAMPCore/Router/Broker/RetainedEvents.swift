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
    /// How many bytes it takes, about.
    let weight: Int
    /// Its place in time among all others.
    fileprivate(set) var turn: UInt64 = 0

    /// What is to be kept of a publication.
    init(_ publication: Publication, id: WAMPID, by publisher: Participant?, owner: WAMPID?, details: ValueMap) {
        (topic, self.publication, self.details) = (publication.topic, id, details)
        (arguments, audience) = (publication.arguments, publication.audience)
        (excluded, self.owner) = (publication.excludesMe ? publisher?.session : nil, owner)
        weight = publication.weight
    }

    func isFor(_ subscriber: Participant) -> Bool { subscriber.session != excluded && audience?.admits(subscriber) ?? true }
}

/// The retained events of a realm.
///
/// Source: WAMP, "Event Retention".
///
/// A topic keeps its last event that was for all, and a few later ones that were for some: so everybody gets the last one that it would
/// have received. They outlive their publisher; then they make room for those of others, the one left first in front.
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

    private var topics: [String: [RetainedEvent]] = [:]
    private var count = 0
    private var turns: UInt64 = 0
    /// How many bytes all take, about.
    private(set) var bytes = 0
    private var shares: [WAMPID: Share] = [:]
    /// Events of those who have left, the first in front, and some that are gone.
    private var left: [Left] = []
    private var leftBytes = 0
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
        var own: [Left] = []
        for topic in share.topics {
            guard var events = topics[topic] else { continue }
            for place in events.indices where events[place].owner == session {
                events[place].owner = nil
                leftBytes += events[place].weight
                own.append(Left(topic: topic, turn: events[place].turn))
            }
            topics[topic] = events
        }
        // A set has no order of its own.
        left += own.sorted { $0.turn < $1.turn }
        forgetGone()
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
            leftBytes += event.weight
            left.append(Left(topic: event.topic, turn: event.turn))
            forgetGone()
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
            return
        }
        shares[owner]?.bytes -= event.weight
        if !others.contains(where: { $0.owner == owner }) { shares[owner]?.topics.remove(event.topic) }
        if shares[owner]?.topics.isEmpty == true { shares[owner] = nil }
    }

    /// Lets events go whose publishers have left, until so many bytes are free.
    mutating func makeRoom(_ needed: Int) {
        var (needed, gone) = (needed, 0)
        while needed > 0, gone < left.count {
            let next = left[gone]
            gone += 1
            guard let event = event(next) else { continue }
            needed -= event.weight
            remove(event)
        }
        left.removeFirst(gone)
    }

    private func event(_ left: Left) -> RetainedEvent? { topics[left.topic]?.first { $0.turn == left.turn } }

    /// Now and then, so that it costs little for each.
    private mutating func forgetGone() {
        guard left.count > 2 * count + 32 else { return }
        left = left.filter { event($0) != nil }
    }
}
