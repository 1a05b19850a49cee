public import CodecCore
public import WAMPCore

/// The meta API of a router: its sessions, subscriptions and registrations.
///
/// Source: WAMP, "Metaprocedures".
///
/// A router may allow the meta API to some roles only; it refuses all others with `wamp.error.not_authorized`.
public struct WAMPMeta: Sendable {
    let client: WAMPClient

    /// The sessions of the realm.
    public var sessions: SessionMeta { SessionMeta(client: client) }
    /// The subscriptions of the realm.
    public var subscriptions: SubscriptionMeta { SubscriptionMeta(client: client) }
    /// The registrations of the realm.
    public var registrations: RegistrationMeta { RegistrationMeta(client: client) }
}

extension WAMPClient {
    /// The meta API of the router.
    public var meta: WAMPMeta { WAMPMeta(client: self) }
}

/// The IDs of subscriptions or registrations, grouped by their URI match policy.
public struct MetaIDs: Codable, Hashable, Sendable {
    /// The IDs with exact match.
    public var exact: [WAMPID]
    /// The IDs with prefix match.
    public var prefix: [WAMPID]
    /// The IDs with wildcard match.
    public var wildcard: [WAMPID]

    /// Decodes the IDs; a missing group is empty.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        exact = try fields.decodeIfPresent([WAMPID].self, forKey: .exact) ?? []
        prefix = try fields.decodeIfPresent([WAMPID].self, forKey: .prefix) ?? []
        wildcard = try fields.decodeIfPresent([WAMPID].self, forKey: .wildcard) ?? []
    }
}

/// The sessions of a realm; see ``WAMPMeta/sessions``.
public struct SessionMeta: Sendable {
    let client: WAMPClient

    /// The details of a session, as the router reports them.
    public struct Info: Codable, Hashable, Sendable {
        /// The session ID.
        public var session: WAMPID
        /// The user ID of the session.
        public var authid: String?
        /// The role of the session.
        public var authrole: String?
        /// The authentication method.
        public var authmethod: String?
        /// The authentication provider.
        public var authprovider: String?
        /// The details of the session's connection.
        public var transport: Value?
    }

    /// A session has joined the realm.
    public static let joined = Topic<Info>("wamp.session.on_join")
    /// A session has left the realm: its ID, and its user ID and role if the router reports them.
    public static let left = Topic<(WAMPID, String?, String?)>("wamp.session.on_leave")

    /// Returns the number of sessions; only those of the given roles, if any are given.
    public func count(roles: [String]? = nil) async throws(WAMPError) -> Int {
        try await client.call(Procedure<[String]?, Int>("wamp.session.count", input: .roles), roles)
    }

    /// Returns the IDs of all sessions; only those of the given roles, if any are given.
    public func list(roles: [String]? = nil) async throws(WAMPError) -> [WAMPID] {
        try await client.call(Procedure<[String]?, [WAMPID]>("wamp.session.list", input: .roles), roles)
    }

    /// Returns the details of a session.
    public func get(_ session: WAMPID) async throws(WAMPError) -> Info {
        try await client.call(Procedure<WAMPID, Info>("wamp.session.get"), session)
    }

    /// Ends a session.
    public func kill(_ session: WAMPID, reason: String? = nil, message: String? = nil) async throws(WAMPError) {
        try await client.call("wamp.session.kill", [Value(session)], keywords: Self.keywords(reason, message))
    }

    /// Ends all sessions of a user; returns their number.
    @discardableResult
    public func kill(authID: String, reason: String? = nil, message: String? = nil) async throws(WAMPError) -> Int {
        try await killed("wamp.session.kill_by_authid", [.text(authID)], reason, message)
    }

    /// Ends all sessions of a role; returns their number.
    @discardableResult
    public func kill(authRole: String, reason: String? = nil, message: String? = nil) async throws(WAMPError) -> Int {
        try await killed("wamp.session.kill_by_authrole", [.text(authRole)], reason, message)
    }

    /// Ends all sessions except this one; returns their number.
    @discardableResult
    public func killAll(reason: String? = nil, message: String? = nil) async throws(WAMPError) -> Int {
        try await killed("wamp.session.kill_all", [], reason, message)
    }

    private func killed(_ uri: String, _ list: [Value], _ reason: String?, _ message: String?) async throws(WAMPError) -> Int {
        let result = try await client.call(uri, list, keywords: Self.keywords(reason, message))
        // Some routers answer with the IDs, others with their number.
        let first = try? result.list.first
        return first?.int ?? first?.items?.count ?? 0
    }

    private static func keywords(_ reason: String?, _ message: String?) -> ValueMap {
        var keywords = ValueMap()
        if let reason { keywords["reason"] = .text(reason) }
        if let message { keywords["message"] = .text(message) }
        return keywords
    }
}

extension WAMPForm where Content == [String]? {
    /// Encodes roles as the only argument, or no argument: some routers do not accept null there.
    static var roles: WAMPForm {
        WAMPForm { roles, _ in
            WAMPArguments(roles.map { [.array($0.map { .text($0) })] } ?? [])
        } decode: { arguments in
            try arguments.list.first?.items?.compactMap(\.string)
        }
    }
}

/// The subscriptions of a realm; see ``WAMPMeta/subscriptions``.
public struct SubscriptionMeta: Sendable {
    let client: WAMPClient

    /// The details of a subscription, as the router reports them.
    public struct Info: Codable, Hashable, Sendable {
        /// The subscription ID.
        public var id: WAMPID
        /// The topic, or the pattern.
        public var uri: String
        /// The match policy of the URI: `exact`, `prefix` or `wildcard`.
        public var match: String
        /// The time when the first session subscribed, as the router writes it.
        public var created: Value?
    }

    /// A topic has got its first subscriber: the session ID, and the subscription.
    public static let created = Topic<(WAMPID, Info)>("wamp.subscription.on_create")
    /// A session has subscribed: its ID, and the subscription ID.
    public static let subscribed = Topic<(WAMPID, WAMPID)>("wamp.subscription.on_subscribe")
    /// A session has unsubscribed: its ID, and the subscription ID.
    public static let unsubscribed = Topic<(WAMPID, WAMPID)>("wamp.subscription.on_unsubscribe")
    /// A topic has lost its last subscriber: the session ID, and the subscription ID.
    public static let deleted = Topic<(WAMPID, WAMPID)>("wamp.subscription.on_delete")

    /// Returns the IDs of all subscriptions.
    public func list() async throws(WAMPError) -> MetaIDs { try await client.call(Procedure<Void, MetaIDs>("wamp.subscription.list")) }

    /// Returns the ID of the subscription to a topic or pattern, or nil.
    public func lookup(_ uri: String, match: WAMPMatch = .exact) async throws(WAMPError) -> WAMPID? {
        try await client.call(
            Procedure<(String, [String: String]), WAMPID?>("wamp.subscription.lookup"), uri, ["match": match.rawValue])
    }

    /// Returns the IDs of all subscriptions that an event of a topic would go to.
    public func match(_ topic: String) async throws(WAMPError) -> [WAMPID] {
        try await client.call(Procedure<String, [WAMPID]?>("wamp.subscription.match"), topic) ?? []
    }

    /// Returns the details of a subscription.
    public func get(_ subscription: WAMPID) async throws(WAMPError) -> Info {
        try await client.call(Procedure<WAMPID, Info>("wamp.subscription.get"), subscription)
    }

    /// Returns the IDs of the sessions with this subscription.
    public func subscribers(_ subscription: WAMPID) async throws(WAMPError) -> [WAMPID] {
        try await client.call(Procedure<WAMPID, [WAMPID]>("wamp.subscription.list_subscribers"), subscription)
    }

    /// Returns the number of sessions with this subscription.
    public func subscriberCount(_ subscription: WAMPID) async throws(WAMPError) -> Int {
        try await client.call(Procedure<WAMPID, Int>("wamp.subscription.count_subscribers"), subscription)
    }

    /// Returns the last events of a subscription, as the router writes them, if the router keeps them.
    public func events(_ subscription: WAMPID, limit: Int) async throws(WAMPError) -> [Value] {
        var keywords: ValueMap = ["limit": .integer(Int64(limit))]
        // Without this, a router that follows the specification would return the first events.
        if client.state.session?.brokerFeatures.contains("event_history") == true { keywords["reverse"] = true }
        let result = try await client.call("wamp.subscription.get_events", [Value(subscription)], keywords: keywords)
        let list: [Value]
        do { list = try result.list } catch { throw .undecodable(error, "CALL wamp.subscription.get_events") }
        // The specification puts the events into the arguments; other routers put the list into the first argument.
        return if list.count == 1, let events = list[0].items { events } else { list }
    }
}

/// The registrations of a realm; see ``WAMPMeta/registrations``.
public struct RegistrationMeta: Sendable {
    let client: WAMPClient

    /// The details of a registration, as the router reports them.
    public struct Info: Codable, Hashable, Sendable {
        /// The registration ID.
        public var id: WAMPID
        /// The procedure, or the pattern.
        public var uri: String
        /// The match policy of the URI: `exact`, `prefix` or `wildcard`.
        public var match: String
        /// The policy that selects the callee if several sessions have registered the procedure.
        public var invoke: String?
        /// The time when the first session registered, as the router writes it.
        public var created: Value?
    }

    /// A procedure has got its first callee: the session ID, and the registration.
    public static let created = Topic<(WAMPID, Info)>("wamp.registration.on_create")
    /// A session has registered a procedure: its ID, and the registration ID.
    public static let registered = Topic<(WAMPID, WAMPID)>("wamp.registration.on_register")
    /// A session has unregistered a procedure: its ID, and the registration ID.
    public static let unregistered = Topic<(WAMPID, WAMPID)>("wamp.registration.on_unregister")
    /// A procedure has lost its last callee: the session ID, and the registration ID.
    public static let deleted = Topic<(WAMPID, WAMPID)>("wamp.registration.on_delete")

    /// Returns the IDs of all registrations.
    public func list() async throws(WAMPError) -> MetaIDs { try await client.call(Procedure<Void, MetaIDs>("wamp.registration.list")) }

    /// Returns the ID of the registration of a procedure or pattern, or nil.
    public func lookup(_ uri: String, match: WAMPMatch = .exact) async throws(WAMPError) -> WAMPID? {
        try await client.call(
            Procedure<(String, [String: String]), WAMPID?>("wamp.registration.lookup"), uri, ["match": match.rawValue])
    }

    /// Returns the ID of the registration that a call would go to, or nil.
    public func match(_ procedure: String) async throws(WAMPError) -> WAMPID? {
        try await client.call(Procedure<String, WAMPID?>("wamp.registration.match"), procedure)
    }

    /// Returns the details of a registration.
    public func get(_ registration: WAMPID) async throws(WAMPError) -> Info {
        try await client.call(Procedure<WAMPID, Info>("wamp.registration.get"), registration)
    }

    /// Returns the IDs of the sessions that have registered the procedure.
    public func callees(_ registration: WAMPID) async throws(WAMPError) -> [WAMPID] {
        try await client.call(Procedure<WAMPID, [WAMPID]>("wamp.registration.list_callees"), registration)
    }

    /// Returns the number of sessions that have registered the procedure.
    public func calleeCount(_ registration: WAMPID) async throws(WAMPError) -> Int {
        try await client.call(Procedure<WAMPID, Int>("wamp.registration.count_callees"), registration)
    }
}
