internal import CodecCore
internal import MachineCore

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
