internal import CodecCore

/// An event that waits to be told, or comes from the router's history.
struct PastEvent: Hashable, Sendable {
    let publication: WAMPID
    let details: ValueMap
    let arguments: WAMPArguments
}

extension PastEvent {
    /// What `wamp.subscription.get_events` answered, the oldest first; nil if it is no list of events.
    ///
    /// The specification has the events as the arguments, its routers in use put the list in the first one. They are in the order in which
    /// they happened by the specification, the newest first in Crossbar: their times tell. Source: WAMP, "Event History".
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

    /// What is no detail of the event, in routers that put the details beside it.
    private static let ownKeys: Set<String> = ["publication", "subscription", "args", "kwargs", "timestamp", "session", "receiver"]

    private static func isNewestFirst(_ items: [Value]) -> Bool {
        guard let first = items.first?["timestamp"], let last = items.last?["timestamp"], first != last else { return items.count > 1 }
        if let first = first.double, let last = last.double { return first > last }
        guard let first = first.string, let last = last.string else { return true }
        return first > last
    }
}

/// The router's history of a topic while it is asked for.
struct HistoryFetch: Hashable, Sendable {
    /// More live events do not wait for it.
    static let capacity = 4096

    let request: WAMPID
    /// Who wants it.
    var listeners: [ClientHandle]
    /// What came since, for them.
    var held: [PastEvent] = []
}

/// The last publications that came, by their ids, within bounds.
struct SeenPublications: Hashable, Sendable {
    /// More events of the past are never asked for.
    static let capacity = 1024

    private var ring: [WAMPID] = []
    /// Where the next one goes once the ring is full.
    private var place = 0
    private var ids: Set<WAMPID> = []

    func contains(_ id: WAMPID) -> Bool { ids.contains(id) }

    /// Remembers it; false if it is known.
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

/// The last events that this client published, and that were not for itself: a router's history has them for everybody.
struct OwnPublications: Hashable, Sendable {
    /// More answers are not waited for: a router that gives none is no reason to grow.
    static let capacity = 1024

    /// The numbers of what was published, and not answered.
    private var requests: Set<WAMPID> = []
    private var ids = SeenPublications()

    func contains(_ publication: WAMPID) -> Bool { ids.contains(publication) }

    /// The router is to say how it calls what is published.
    mutating func ask(_ request: WAMPID) {
        if requests.count >= Self.capacity { requests.removeAll() }
        requests.insert(request)
    }

    /// The router says how it calls what was published.
    mutating func hear(_ request: WAMPID, publication: WAMPID) {
        guard !requests.isEmpty, requests.remove(request) != nil else { return }
        ids.insert(publication)
    }

    /// Nothing is answered any more.
    mutating func lose() { requests.removeAll() }
}
