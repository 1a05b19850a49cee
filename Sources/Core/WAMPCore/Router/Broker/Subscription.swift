import CodecCore
import MachineCore

/// Who gets the events of a topic or pattern.
struct Subscription: Sendable {
    let id: WAMPID
    let uri: String
    let match: WAMPMatch
    let created: Moment
    /// Who has subscribed.
    ///
    /// It goes as it is into the effects, so it is kept, not made for each event.
    private(set) var connections: [RouterConnection] = []
    /// The same in the same order.
    private(set) var subscribers: [Participant] = []
    private var places: [WAMPID: Int] = [:]
    private var kept: [HistoricEvent] = []
    /// What those take, in bytes.
    private(set) var historyBytes = 0

    /// A subscription of nobody.
    init(id: WAMPID, uri: String, match: WAMPMatch, created: Moment) {
        (self.id, self.uri, self.match, self.created) = (id, uri, match, created)
    }

    var isEmpty: Bool { subscribers.isEmpty }

    /// Whether it is about the router itself; of these the meta API tells nothing.
    var isMeta: Bool { WAMPURI.isReserved(uri) }

    func contains(_ session: WAMPID) -> Bool { places[session] != nil }

    /// Adds a subscriber that is none yet.
    mutating func add(_ subscriber: Participant) {
        places[subscriber.session] = subscribers.count
        subscribers.append(subscriber)
        connections.append(subscriber.connection)
    }

    /// Removes a subscriber; the last one takes its place, so that nobody else moves.
    mutating func remove(_ session: WAMPID) {
        guard let place = places.removeValue(forKey: session) else { return }
        let last = subscribers.removeLast()
        connections.removeLast()
        guard last.session != session else { return }
        (subscribers[place], connections[place], places[last.session]) = (last, last.connection, place)
    }

    /// Who gets an event.
    func receivers(of publication: Publication, by publisher: Participant?) -> [RouterConnection] {
        let excluded = publication.excludesMe ? publisher?.session : nil
        if let audience = publication.audience {
            return subscribers.filter { $0.session != excluded && audience.admits($0) }.map(\.connection)
        }
        guard let excluded, let place = places[excluded] else { return connections }
        var receivers = connections
        receivers.swapAt(place, receivers.count - 1)
        receivers.removeLast()
        return receivers
    }

    /// The details of an event; only patterns need the topic said.
    func details(_ details: ValueMap, of topic: String) -> ValueMap {
        guard match != .exact else { return details }
        var details = details
        details.entries.append(ValueMap.Entry(key: "topic", value: .text(topic)))
        return details
    }
}

/// An event of the past.
///
/// Source: WAMP, "Event History".
struct HistoricEvent: Hashable, Sendable {
    let at: Moment
    let publication: WAMPID
    let topic: String
    let details: ValueMap
    let arguments: WAMPArguments
    let audience: Audience?
    /// The session that published it, if it does not hear of its own events.
    let concealedFrom: WAMPID?
    /// How many bytes it takes, about.
    let weight: Int
}

extension Subscription {
    /// The last events, the oldest first.
    func history(_ length: Int) -> ArraySlice<HistoricEvent> { kept.suffix(length) }

    /// Keeps an event as one of the last so many.
    ///
    /// - Returns: How many bytes more the history takes.
    mutating func keep(_ event: HistoricEvent, length: Int) -> Int {
        kept.append(event)
        historyBytes += event.weight
        // Now and then, so that it costs little for each.
        guard kept.count / 2 >= length else { return event.weight }
        return event.weight - forget(kept.count - length)
    }

    /// Forgets the older half of the history.
    ///
    /// - Returns: How many bytes fewer it takes.
    mutating func forgetHalf() -> Int { forget((kept.count + 1) / 2) }

    private mutating func forget(_ count: Int) -> Int {
        let bytes = kept.prefix(count).reduce(0) { $0 + $1.weight }
        kept.removeFirst(count)
        historyBytes -= bytes
        return bytes
    }
}
