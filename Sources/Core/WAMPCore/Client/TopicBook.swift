package import CodecCore
internal import MachineCore

/// All topics, and who listens: shared by topic and kind of match.
struct TopicBook: Hashable, Sendable {
    /// Who gets an event, found with one look.
    struct Audience: Hashable, Sendable {
        let topic: Int
        var listeners: [ClientHandle]
        /// Whether every event is for all of them, now.
        var isPlain: Bool
    }

    /// By the order in which they came.
    private var topics: [Int: Topic] = [:]
    private var numbers: [TopicKey: Int] = [:]
    private var lastNumber = 0
    private(set) var audiences: [WAMPID: Audience] = [:]
    private(set) var listeners: [ClientHandle: Listener] = [:]
    /// Listeners that were not told yet that their subscription stands.
    private(set) var waiting: Set<ClientHandle> = []
    /// Those who wanted no more and are to hear when the router has answered, by topic.
    var leavers: [Int: [ClientHandle]] = [:]
    /// The topics whose history is wanted after a gap.
    private var recalled: Set<Int> = []
    var own = OwnPublications()

    var inOrder: [Int] { topics.keys.sorted() }
    var isEmpty: Bool { topics.isEmpty && listeners.isEmpty && leavers.isEmpty }

    subscript(number: Int) -> Topic? { topics[number] }

    /// The topic of a key, made if need be.
    mutating func topic(_ key: TopicKey, options: SubscribeOptions) -> Int {
        if let number = numbers[key] {
            if topics[number]?.listeners.isEmpty == true { topics[number]?.other = options.other }
            return number
        }
        lastNumber += 1
        numbers[key] = lastNumber
        topics[lastNumber] = Topic(key: key, other: options.other)
        return lastNumber
    }

    mutating func add(_ handle: ClientHandle, _ listener: Listener) {
        listeners[handle] = listener
        waiting.insert(handle)
        update(listener.topic) { topic in
            topic.listeners.append(handle)
            if listener.options.wantsRetained { topic.unserved.append(handle) }
            topic.historyLength = max(topic.historyLength, listener.historyLength)
        }
    }

    /// Takes a listener out; the topic stays.
    mutating func remove(_ handle: ClientHandle) -> Listener? {
        guard let listener = listeners.removeValue(forKey: handle) else { return nil }
        waiting.remove(handle)
        update(listener.topic) { [listeners] topic in
            topic.remove(handle)
            guard topic.historyLength > 0 else { return }
            topic.historyLength = topic.listeners.reduce(0) { max($0, listeners[$1]?.historyLength ?? 0) }
        }
        return listener
    }

    /// Takes one out of those who are to hear of their end; false if it is none of them.
    mutating func takeLeaver(_ handle: ClientHandle) -> Bool {
        for (number, handles) in leavers where handles.contains(handle) {
            let rest = handles.filter { $0 != handle }
            leavers[number] = rest.isEmpty ? nil : rest
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

    /// Changes a topic; whoever finds it by its subscription sees it.
    mutating func update(_ number: Int, _ change: (inout Topic) -> Void) {
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

    /// Whether the history is wanted after a gap of what an event of this topic belongs to.
    func isRecalled(_ topic: String) -> Bool {
        !recalled.isEmpty && recalled.contains { topics[$0]?.key.matches(topic) == true }
    }

    // MARK: Events

    /// What decides whom an event of a topic concerns.
    struct Reception {
        let listeners: [ClientHandle]
        let hungry: [ClientHandle]
        let isExact: Bool
        let keepsPublications: Bool
        /// Who waits for the history; nil: nobody asks for it.
        let curious: [ClientHandle]?
    }

    /// Without what grows with each event: a second owner would have that copied.
    func reception(of number: Int) -> Reception? {
        topics[number].map { topic in
            Reception(
                listeners: topic.listeners, hungry: topic.hungry, isExact: topic.key.match == .exact,
                keepsPublications: topic.historyLength > 0 && topic.history == nil, curious: topic.history?.listeners)
        }
    }

    /// Remembers a publication; false if it is known.
    mutating func remember(_ publication: WAMPID, of number: Int) -> Bool { topics[number]?.seen.insert(publication) ?? false }

    /// Keeps an event for those who wait for the history; how many are kept.
    mutating func hold(_ event: PastEvent, of number: Int) -> Int {
        topics[number]?.history?.held.append(event)
        return topics[number]?.history?.held.count ?? 0
    }
}

/// A topic, or a pattern of them, with all who listen to it.
struct Topic: Hashable, Sendable {
    enum Flight: Hashable, Sendable {
        case subscribe
        case unsubscribe
    }

    let key: TopicKey
    /// Options of the one who came first; they stay for as long as anybody listens.
    var other: ValueMap
    /// In the order in which they came.
    var listeners: [ClientHandle] = []
    /// While it stands on the router.
    var subscription: WAMPID?
    /// At most one is under way, so an answer says where the topic stands.
    var flight: Flight?
    /// Since when it is under way.
    var askedAt = Moment.start
    /// What those miss who listened before, once it stands again.
    var gap: ClientGap?
    var standsSince = Moment.start
    /// How often it was tried again.
    var tries = 0
    /// Whether the next try has to wait.
    var isPausing = false
    /// Who wants the retained event, and has not been subscribed for.
    var unserved: [ClientHandle] = []
    /// Who gets the retained event when it comes.
    var hungry: [ClientHandle] = []
    /// How many events of the past are wanted after a gap, at most.
    var historyLength = 0
    var history: HistoryFetch?
    /// What has come, if there is a use for it.
    var seen = SeenPublications()

    /// Whether an event is for all listeners, now, whatever it is.
    var isPlain: Bool { hungry.isEmpty && historyLength == 0 }

    mutating func remove(_ listener: ClientHandle) {
        listeners.removeAll { $0 == listener }
        unserved.removeAll { $0 == listener }
        hungry.removeAll { $0 == listener }
        history?.listeners.removeAll { $0 == listener }
    }
}

/// Somebody who listens to a topic.
struct Listener: Hashable, Sendable {
    let topic: Int
    let options: SubscribeOptions
    /// Until when it waits for a session; nil: it does not.
    let waitsUntil: Moment?
    /// Whether it was told once that the subscription stands.
    var isSubscribed = false

    /// How many events of the past it wants, within bounds.
    var historyLength: Int { min(max(options.historyAfterGap, 0), SeenPublications.capacity) }
}

extension TopicKey {
    /// The topic that an event was published to; only under a pattern its details say it.
    package func topic(of details: ValueMap) -> String { match == .exact ? uri : details["topic"]?.string ?? uri }

    /// Whether an event of a topic is for who listens to this.
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
