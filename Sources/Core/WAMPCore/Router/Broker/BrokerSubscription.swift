import CodecCore
import MachineCore

/// The subscribers of a topic or pattern.
struct BrokerSubscription: Sendable {
    let id: WAMPID
    let uri: String
    let match: WAMPMatch
    let created: Moment
    /// The connections of the subscribers.
    ///
    /// The array is passed to effects as it is, so it is stored instead of being built for each event.
    private(set) var connections: [RouterConnection] = []
    /// The subscribers, in the same order.
    private(set) var subscribers: [Participant] = []
    private var places: [WAMPID: Int] = [:]
    private var kept: [HistoricEvent] = []
    /// The number of bytes in the history.
    private(set) var historyBytes = 0

    /// Creates a subscription without subscribers.
    init(id: WAMPID, uri: String, match: WAMPMatch, created: Moment) {
        (self.id, self.uri, self.match, self.created) = (id, uri, match, created)
    }

    var isEmpty: Bool { subscribers.isEmpty }

    /// Whether it is about the router itself; the meta API does not report such subscriptions.
    var isMeta: Bool { WAMPURI.isReserved(uri) }

    func contains(_ session: WAMPID) -> Bool { places[session] != nil }

    /// Adds a new subscriber.
    mutating func add(_ subscriber: Participant) {
        places[subscriber.session] = subscribers.count
        subscribers.append(subscriber)
        connections.append(subscriber.connection)
    }

    /// Removes a subscriber; only the last one moves, to the free place.
    mutating func remove(_ session: WAMPID) {
        guard let place = places.removeValue(forKey: session) else { return }
        let last = subscribers.removeLast()
        connections.removeLast()
        guard last.session != session else { return }
        (subscribers[place], connections[place], places[last.session]) = (last, last.connection, place)
    }

    /// Returns the connections that get an event.
    func receivers(of publication: BrokerPublication, by publisher: Participant?) -> [RouterConnection] {
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

    /// Returns the details of an event; only patterns need the topic in them.
    func details(_ details: ValueMap, of topic: String) -> ValueMap {
        guard match != .exact else { return details }
        var details = details
        details.entries.append(ValueMap.Entry(key: "topic", value: .text(topic)))
        return details
    }
}

/// A past event.
///
/// Source: WAMP, "Event History".
struct HistoricEvent: Hashable, Sendable {
    let at: Moment
    let publication: WAMPID
    let topic: String
    let details: ValueMap
    let arguments: WAMPArguments
    let audience: Audience?
    /// The session that published the event, if it does not get its own events.
    let concealedFrom: WAMPID?
    /// The approximate number of bytes kept.
    let weight: Int
}

extension BrokerSubscription {
    /// Returns the last events, oldest first.
    func history(_ length: Int) -> ArraySlice<HistoricEvent> { kept.suffix(length) }

    /// Adds an event and keeps this number of last events.
    ///
    /// - Returns: The number of additional bytes in the history.
    mutating func keep(_ event: HistoricEvent, length: Int) -> Int {
        kept.append(event)
        historyBytes += event.weight
        // Trim only now and then, so that the cost per event is small.
        guard kept.count / 2 >= length else { return event.weight }
        return event.weight - forget(kept.count - length)
    }

    /// Drops the older half of the history.
    ///
    /// - Returns: The number of bytes freed.
    mutating func forgetHalf() -> Int { forget((kept.count + 1) / 2) }

    private mutating func forget(_ count: Int) -> Int {
        let bytes = kept.prefix(count).reduce(0) { $0 + $1.weight }
        kept.removeFirst(count)
        historyBytes -= bytes
        return bytes
    }
}
