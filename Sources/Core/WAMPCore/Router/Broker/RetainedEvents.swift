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
    /// Its place in time among all others.
    fileprivate(set) var turn: UInt64 = 0

    /// What is to be kept of a publication.
    init(_ publication: Publication, id: WAMPID, by publisher: Participant?, details: ValueMap) {
        (topic, self.publication, self.details) = (publication.topic, id, details)
        (arguments, audience) = (publication.arguments, publication.audience)
        excluded = publication.excludesMe ? publisher?.session : nil
    }

    func isFor(_ subscriber: Participant) -> Bool { subscriber.session != excluded && audience?.admits(subscriber) ?? true }
}

/// The retained events of a realm.
///
/// Source: WAMP, "Event Retention".
///
/// A topic keeps its last event that was for all, and a few later ones that were for some: so everybody gets the last one that it would
/// have received.
struct RetainedEvents: Hashable, Sendable {
    /// How many events for some a topic keeps beside the one for all.
    static let limited = 4
    /// How many a new subscriber gets at most; a pattern may match many topics.
    static let replayed = 1000
    /// How many bytes of them, about, unless a single one is longer: it gets them all at once, and must be able to take them.
    static let replayedBytes = 1024 * 1024

    private var topics: [String: [RetainedEvent]] = [:]
    private var count = 0
    private var turns: UInt64 = 0

    /// No events.
    init() {}

    var isEmpty: Bool { topics.isEmpty }

    /// Keeps an event, unless there are too many.
    mutating func keep(_ event: RetainedEvent, bound: Int) {
        var events = topics[event.topic] ?? []
        count -= events.count
        defer { count += topics[event.topic]?.count ?? 0 }
        if event.audience == nil {
            events = []
        } else if events.count(where: { $0.audience != nil }) == Self.limited, let oldest = events.firstIndex(where: { $0.audience != nil })
        {
            events.remove(at: oldest)
        }
        guard count + events.count < bound else { return }
        turns += 1
        var event = event
        event.turn = turns
        topics[event.topic] = events + [event]
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
}
