package import CodecCore
internal import MachineCore

/// The topics and their listeners; listeners with the same topic and match share a subscription.
struct TopicTable: Hashable, Sendable {
    /// The listeners of a subscription, found with one lookup.
    struct Audience: Hashable, Sendable {
        let topic: Int
        var listeners: [ClientHandle]
        /// Whether at the moment every event goes to all listeners without further checks.
        var isPlain: Bool
    }

    /// By number, in the order in which they were added.
    private var topics: [Int: TopicState] = [:]
    private var numbers: [TopicKey: Int] = [:]
    private var lastNumber = 0
    private(set) var audiences: [WAMPID: Audience] = [:]
    private(set) var listeners: [ClientHandle: TopicListener] = [:]
    /// Listeners that do not know yet that their subscription exists.
    private(set) var waiting: Set<ClientHandle> = []
    /// Listeners that have ended and wait for the router's answer, by topic.
    var unsubscribing: [Int: [ClientHandle]] = [:]
    /// The topics whose history is requested after a gap.
    private var recalled: Set<Int> = []
    var own = OwnPublications()

    var inOrder: [Int] { topics.keys.sorted() }
    var isEmpty: Bool { topics.isEmpty && listeners.isEmpty && unsubscribing.isEmpty }

    subscript(number: Int) -> TopicState? { topics[number] }

    /// Returns the topic for a key; creates it if needed.
    mutating func topic(_ key: TopicKey, options: SubscribeOptions) -> Int {
        if let number = numbers[key] {
            if topics[number]?.listeners.isEmpty == true { topics[number]?.other = options.other }
            return number
        }
        lastNumber += 1
        numbers[key] = lastNumber
        topics[lastNumber] = TopicState(key: key, other: options.other)
        return lastNumber
    }

    mutating func add(_ handle: ClientHandle, _ listener: TopicListener) {
        listeners[handle] = listener
        waiting.insert(handle)
        update(listener.topic) { topic in
            topic.listeners.append(handle)
            if listener.options.wantsRetained { topic.unserved.append(handle) }
            topic.historyLength = max(topic.historyLength, listener.historyLength)
        }
    }

    /// Removes a listener; the topic stays.
    mutating func remove(_ handle: ClientHandle) -> TopicListener? {
        guard let listener = listeners.removeValue(forKey: handle) else { return nil }
        waiting.remove(handle)
        update(listener.topic) { [listeners] topic in
            topic.remove(handle)
            guard topic.historyLength > 0 else { return }
            topic.historyLength = topic.listeners.reduce(0) { max($0, listeners[$1]?.historyLength ?? 0) }
        }
        return listener
    }

    /// Removes a listener from those that wait for the answer to their end; returns false if it is not among them.
    mutating func takeUnsubscribing(_ handle: ClientHandle) -> Bool {
        for (number, handles) in unsubscribing where handles.contains(handle) {
            let rest = handles.filter { $0 != handle }
            unsubscribing[number] = rest.isEmpty ? nil : rest
            return true
        }
        return false
    }

    mutating func markSubscribed(_ handle: ClientHandle) {
        listeners[handle]?.isSubscribed = true
        waiting.remove(handle)
    }

    mutating func removeTopic(_ number: Int) {
        guard let topic = topics.removeValue(forKey: number) else { return }
        recalled.remove(number)
        numbers[topic.key] = nil
        if let subscription = topic.subscription { audiences[subscription] = nil }
    }

    /// Changes a topic, and updates the lookup by its subscription.
    mutating func update(_ number: Int, _ change: (inout TopicState) -> Void) {
        guard var topic = topics[number] else { return }
        let before = topic.subscription
        change(&topic)
        if let before, before != topic.subscription { audiences[before] = nil }
        if let subscription = topic.subscription {
            audiences[subscription] = Audience(topic: number, listeners: topic.listeners, isPlain: topic.isPlain)
        }
        if topic.historyLength > 0 { recalled.insert(number) } else if !recalled.isEmpty { recalled.remove(number) }
        topics[number] = topic
    }

    /// Returns whether an event of this topic belongs to a subscription whose history is requested after a gap.
    func isRecalled(_ topic: String) -> Bool {
        !recalled.isEmpty && recalled.contains { topics[$0]?.key.matches(topic) == true }
    }

    // MARK: Events

    /// The data that decide which listeners get an event of a topic.
    struct Reception {
        let listeners: [ClientHandle]
        let awaitingRetained: [ClientHandle]
        let isExact: Bool
        let keepsPublications: Bool
        /// The listeners that wait for the history; nil: no history request is pending.
        let curious: [ClientHandle]?
    }

    /// Returns the reception of a topic, without the data that grows with each event: a second reference would copy that data.
    func reception(of number: Int) -> Reception? {
        topics[number].map { topic in
            Reception(
                listeners: topic.listeners, awaitingRetained: topic.awaitingRetained, isExact: topic.key.match == .exact,
                keepsPublications: topic.historyLength > 0 && topic.history == nil, curious: topic.history?.listeners)
        }
    }

    /// Remembers a publication; returns false if it is known already.
    mutating func remember(_ publication: WAMPID, of number: Int) -> Bool { topics[number]?.seen.insert(publication) ?? false }

    /// Keeps an event for the listeners that wait for the history; returns the number of events kept.
    mutating func hold(_ event: PastEvent, of number: Int) -> Int {
        topics[number]?.history?.held.append(event)
        return topics[number]?.history?.held.count ?? 0
    }
}

/// A topic, or a pattern of topics, with its listeners.
struct TopicState: Hashable, Sendable {
    enum Flight: Hashable, Sendable {
        case subscribe
        case unsubscribe
    }

    let key: TopicKey
    /// The options of the first listener; they stay as long as the topic has listeners.
    var other: ValueMap
    /// In the order in which they were added.
    var listeners: [ClientHandle] = []
    /// The subscription, while it exists on the router.
    var subscription: WAMPID?
    /// The pending request; there is at most one, so that each answer is unambiguous.
    var flight: Flight?
    /// When the pending request was sent.
    var askedAt = Moment.start
    /// The gap for listeners that existed before, reported when the subscription exists again.
    var gap: ClientGap?
    var standsSince = Moment.start
    /// The number of retries.
    var tries = 0
    /// Whether the next retry has to wait.
    var isPausing = false
    /// Listeners that want the retained event and for which no SUBSCRIBE was sent yet.
    var unserved: [ClientHandle] = []
    /// Listeners that get the retained event when it comes.
    var awaitingRetained: [ClientHandle] = []
    /// The maximum number of past events that are requested after a gap.
    var historyLength = 0
    var history: HistoryFetch?
    /// The publications that have come, if they are needed.
    var seen = SeenPublications()

    /// Whether at the moment every event goes to all listeners without further checks.
    var isPlain: Bool { awaitingRetained.isEmpty && historyLength == 0 }

    mutating func remove(_ listener: ClientHandle) {
        listeners.removeAll { $0 == listener }
        unserved.removeAll { $0 == listener }
        awaitingRetained.removeAll { $0 == listener }
        history?.listeners.removeAll { $0 == listener }
    }
}

/// A listener of a topic.
struct TopicListener: Hashable, Sendable {
    let topic: Int
    let options: SubscribeOptions
    /// Until when the listener waits for a session; nil: it does not wait.
    let waitsUntil: Moment?
    /// Whether the listener knows that the subscription exists.
    var isSubscribed = false

    /// The number of past events that the listener wants, within the limits.
    var historyLength: Int { min(max(options.historyAfterGap, 0), SeenPublications.capacity) }
}

extension TopicKey {
    /// Returns the topic that an event was published to; the details contain it only for patterns.
    package func topic(of details: ValueMap) -> String { match == .exact ? uri : details["topic"]?.string ?? uri }

    /// Returns whether an event of a topic matches this key.
    ///
    /// Source: WAMP, "Pattern-based Subscriptions".
    func matches(_ topic: String) -> Bool {
        switch match {
        case .exact: return uri == topic
        case .prefix: return topic.utf8.starts(with: uri.utf8)
        case .wildcard:
            let parts = uri.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            let others = topic.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            return parts.count == others.count && zip(parts, others).allSatisfy { $0.isEmpty || $0.elementsEqual($1) }
        }
    }
}
