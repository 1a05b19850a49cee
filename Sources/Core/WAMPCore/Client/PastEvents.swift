internal import CodecCore

/// An event that waits for delivery, or comes from the router's history.
struct PastEvent: Hashable, Sendable {
    let publication: WAMPID
    let details: ValueMap
    let arguments: WAMPArguments
}

extension PastEvent {
    /// Reads the answer of `wamp.subscription.get_events`, oldest event first; nil if it is not a list of events.
    ///
    /// By the specification the events are the arguments; routers in use put the list into the first argument. By the specification they
    /// are in the order in which they happened; in Crossbar the newest is first. The timestamps show which order it is. Source: WAMP,
    /// "Event History".
    static func list(_ arguments: WAMPArguments) -> [PastEvent]? {
        guard let list = try? arguments.list else { return nil }
        let items = if list.count == 1, let inner = list[0].items { inner } else { list }
        var events: [PastEvent] = []
        for item in items {
            guard let event = PastEvent(item) else { return nil }
            events.append(event)
        }
        return isNewestFirst(items) ? events.reversed() : events
    }

    private init?(_ value: Value) {
        guard let map = value.entries, let number = map["publication"]?.int, let id = WAMPID(exactly: number) else { return nil }
        let details =
            map["details"]?.entries
            ?? ValueMap(map.entries.filter { entry in entry.key.string.map { !Self.ownKeys.contains($0) } ?? false && !entry.value.isNull })
        let arguments = WAMPArguments(map["args"]?.items ?? [], keywords: map["kwargs"]?.entries ?? ValueMap())
        self.init(publication: id, details: details, arguments: arguments)
    }

    /// The keys that are not details of the event, for routers that put the details beside them.
    private static let ownKeys: Set<String> = ["publication", "subscription", "args", "kwargs", "timestamp", "session", "receiver"]

    private static func isNewestFirst(_ items: [Value]) -> Bool {
        guard let first = items.first?["timestamp"], let last = items.last?["timestamp"], first != last else { return items.count > 1 }
        if let first = first.double, let last = last.double { return first > last }
        guard let first = first.string, let last = last.string else { return true }
        return first > last
    }
}

/// The pending history request of a topic.
struct HistoryFetch: Hashable, Sendable {
    /// The maximum number of live events that wait for the history.
    static let capacity = 4096

    let request: WAMPID
    /// The listeners that want the history.
    var listeners: [ClientHandle]
    /// The events that came since the request, for these listeners.
    var held: [PastEvent] = []
}

/// The IDs of the last publications that came, up to a limit.
struct SeenPublications: Hashable, Sendable {
    /// The number of remembered publications, which is also the maximum number of past events that are requested.
    static let capacity = 1024

    private var ring: [WAMPID] = []
    /// The index of the next write once the ring is full.
    private var place = 0
    private var ids: Set<WAMPID> = []

    func contains(_ id: WAMPID) -> Bool { ids.contains(id) }

    /// Remembers a publication; returns false if it is known already.
    @discardableResult
    mutating func insert(_ id: WAMPID) -> Bool {
        guard ids.insert(id).inserted else { return false }
        if ring.count < Self.capacity {
            ring.append(id)
        } else {
            ids.remove(ring[place])
            ring[place] = id
            place = (place + 1) % Self.capacity
        }
        return true
    }
}

/// The last events that this client published for others only; the router's history includes them.
struct OwnPublications: Hashable, Sendable {
    /// The maximum number of pending answers: a router that never answers must not make memory grow.
    static let capacity = 1024

    /// The request numbers of publications without an answer.
    private var requests: Set<WAMPID> = []
    private var ids = SeenPublications()

    func contains(_ publication: WAMPID) -> Bool { ids.contains(publication) }

    /// Records a publication that the router is to acknowledge.
    mutating func ask(_ request: WAMPID) {
        if requests.count >= Self.capacity { requests.removeAll() }
        requests.insert(request)
    }

    /// Records the publication ID that the router gave a publication.
    mutating func handle(_ request: WAMPID, publication: WAMPID) {
        guard !requests.isEmpty, requests.remove(request) != nil else { return }
        ids.insert(publication)
    }

    /// Drops all pending answers.
    mutating func lose() { requests.removeAll() }
}
