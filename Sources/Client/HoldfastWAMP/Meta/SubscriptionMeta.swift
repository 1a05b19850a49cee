public import CodecCore
public import WAMPCore

/// The subscriptions of a realm; see ``WAMPMeta/subscriptions``.
public struct SubscriptionMeta: Sendable {
    let client: WAMPClient

    /// A subscription as the router tells of it.
    public struct Info: Codable, Hashable, Sendable {
        /// Its id.
        public var id: WAMPID
        /// The topic, or the pattern.
        public var uri: String
        /// How the URI is compared: `exact`, `prefix` or `wildcard`.
        public var match: String
        /// When the first session subscribed, as the router writes it.
        public var created: Value?
    }

    /// A topic has its first subscriber: the session, and the subscription.
    public static let created = Topic<(WAMPID, Info)>("wamp.subscription.on_create")
    /// A session has subscribed: its id, and the subscription's.
    public static let subscribed = Topic<(WAMPID, WAMPID)>("wamp.subscription.on_subscribe")
    /// A session has unsubscribed: its id, and the subscription's.
    public static let unsubscribed = Topic<(WAMPID, WAMPID)>("wamp.subscription.on_unsubscribe")
    /// A topic has lost its last subscriber: the session's id, and the subscription's.
    public static let deleted = Topic<(WAMPID, WAMPID)>("wamp.subscription.on_delete")

    /// The ids of all.
    public func list() async throws(WAMPError) -> MetaIDs { try await client.call(Procedure<Void, MetaIDs>("wamp.subscription.list")) }

    /// The id of the subscription to a topic or pattern, or nil.
    public func lookup(_ uri: String, match: WAMPMatch = .exact) async throws(WAMPError) -> WAMPID? {
        try await client.call(
            Procedure<(String, [String: String]), WAMPID?>("wamp.subscription.lookup"), uri, ["match": match.rawValue])
    }

    /// The ids of all that an event of a topic would go to.
    public func match(_ topic: String) async throws(WAMPError) -> [WAMPID] {
        try await client.call(Procedure<String, [WAMPID]?>("wamp.subscription.match"), topic) ?? []
    }

    /// What is known of one.
    public func get(_ subscription: WAMPID) async throws(WAMPError) -> Info {
        try await client.call(Procedure<WAMPID, Info>("wamp.subscription.get"), subscription)
    }

    /// The sessions that have it.
    public func subscribers(_ subscription: WAMPID) async throws(WAMPError) -> [WAMPID] {
        try await client.call(Procedure<WAMPID, [WAMPID]>("wamp.subscription.list_subscribers"), subscription)
    }

    /// How many sessions have it.
    public func subscriberCount(_ subscription: WAMPID) async throws(WAMPError) -> Int {
        try await client.call(Procedure<WAMPID, Int>("wamp.subscription.count_subscribers"), subscription)
    }

    /// The last events of a subscription, where the router keeps them, as it writes them.
    public func events(_ subscription: WAMPID, limit: Int) async throws(WAMPError) -> [Value] {
        var keywords: ValueMap = ["limit": .integer(Int64(limit))]
        // Of a router that follows the specification these would be the first ones.
        if client.state.session?.brokerFeatures.contains("event_history") == true { keywords["reverse"] = true }
        let result = try await client.call("wamp.subscription.get_events", [Value(subscription)], keywords: keywords)
        let list: [Value]
        do { list = try result.list } catch { throw .undecodable(error, "CALL wamp.subscription.get_events") }
        // The specification has the events as the arguments, others put the list in the first one.
        return if list.count == 1, let events = list[0].items { events } else { list }
    }
}
