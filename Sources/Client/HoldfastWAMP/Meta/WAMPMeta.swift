public import CodecCore
public import WAMPCore

/// What a router tells of itself: its sessions, subscriptions and registrations.
///
/// Source: WAMP, "Metaprocedures".
///
/// A router may allow this to some roles only; then everything here is refused with `wamp.error.not_authorized`.
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
    /// What the router tells of itself.
    public var meta: WAMPMeta { WAMPMeta(client: self) }
}

/// The ids of subscriptions or registrations, by the way their URIs are compared.
public struct MetaIDs: Codable, Hashable, Sendable {
    /// Those whose URIs must be the same.
    public var exact: [WAMPID]
    /// Those for all that begins alike.
    public var prefix: [WAMPID]
    /// Those with components left open.
    public var wildcard: [WAMPID]

    /// Reads what is there; a kind that is left out has none.
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

    /// A session as the router tells of it.
    public struct Info: Codable, Hashable, Sendable {
        /// Its id.
        public var session: WAMPID
        /// Who it is.
        public var authid: String?
        /// As what it has joined.
        public var authrole: String?
        /// By which method.
        public var authmethod: String?
        /// Who vouches for it.
        public var authprovider: String?
        /// What the router tells of its connection.
        public var transport: Value?
    }

    /// A session that has joined.
    public static let joined = Topic<Info>("wamp.session.on_join")
    /// A session that has left: its id, and who it was, where the router says so.
    public static let left = Topic<(WAMPID, String?, String?)>("wamp.session.on_leave")

    /// How many there are; of some roles only, if any are given.
    public func count(roles: [String]? = nil) async throws(WAMPError) -> Int {
        try await client.call(Procedure<[String]?, Int>("wamp.session.count", input: .roles), roles)
    }

    /// The ids of all; of some roles only, if any are given.
    public func list(roles: [String]? = nil) async throws(WAMPError) -> [WAMPID] {
        try await client.call(Procedure<[String]?, [WAMPID]>("wamp.session.list", input: .roles), roles)
    }

    /// What is known of one.
    public func get(_ session: WAMPID) async throws(WAMPError) -> Info {
        try await client.call(Procedure<WAMPID, Info>("wamp.session.get"), session)
    }

    /// Ends one.
    public func kill(_ session: WAMPID, reason: String? = nil, message: String? = nil) async throws(WAMPError) {
        try await client.call("wamp.session.kill", [Value(session)], keywords: Self.keywords(reason, message))
    }

    /// Ends all of a user; returns how many.
    @discardableResult
    public func kill(authID: String, reason: String? = nil, message: String? = nil) async throws(WAMPError) -> Int {
        try await killed("wamp.session.kill_by_authid", [.text(authID)], reason, message)
    }

    /// Ends all of a role; returns how many.
    @discardableResult
    public func kill(authRole: String, reason: String? = nil, message: String? = nil) async throws(WAMPError) -> Int {
        try await killed("wamp.session.kill_by_authrole", [.text(authRole)], reason, message)
    }

    /// Ends all but this one; returns how many.
    @discardableResult
    public func killAll(reason: String? = nil, message: String? = nil) async throws(WAMPError) -> Int {
        try await killed("wamp.session.kill_all", [], reason, message)
    }

    private func killed(_ uri: String, _ list: [Value], _ reason: String?, _ message: String?) async throws(WAMPError) -> Int {
        let result = try await client.call(uri, list, keywords: Self.keywords(reason, message))
        // Some routers answer with the ids, others with their number.
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
    /// Roles as the only argument, or none: some routers take no null there.
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

/// The registrations of a realm; see ``WAMPMeta/registrations``.
public struct RegistrationMeta: Sendable {
    let client: WAMPClient

    /// A registration as the router tells of it.
    public struct Info: Codable, Hashable, Sendable {
        /// Its id.
        public var id: WAMPID
        /// The procedure, or the pattern.
        public var uri: String
        /// How the URI is compared: `exact`, `prefix` or `wildcard`.
        public var match: String
        /// Who is called where several offer it.
        public var invoke: String?
        /// When the first session registered, as the router writes it.
        public var created: Value?
    }

    /// A procedure is offered for the first time: the session, and the registration.
    public static let created = Topic<(WAMPID, Info)>("wamp.registration.on_create")
    /// A session offers a procedure: its id, and the registration's.
    public static let registered = Topic<(WAMPID, WAMPID)>("wamp.registration.on_register")
    /// A session offers a procedure no longer: its id, and the registration's.
    public static let unregistered = Topic<(WAMPID, WAMPID)>("wamp.registration.on_unregister")
    /// Nobody offers a procedure any longer: the session's id, and the registration's.
    public static let deleted = Topic<(WAMPID, WAMPID)>("wamp.registration.on_delete")

    /// The ids of all.
    public func list() async throws(WAMPError) -> MetaIDs { try await client.call(Procedure<Void, MetaIDs>("wamp.registration.list")) }

    /// The id of the registration of a procedure or pattern, or nil.
    public func lookup(_ uri: String, match: WAMPMatch = .exact) async throws(WAMPError) -> WAMPID? {
        try await client.call(
            Procedure<(String, [String: String]), WAMPID?>("wamp.registration.lookup"), uri, ["match": match.rawValue])
    }

    /// The id of the registration that a call would go to, or nil.
    public func match(_ procedure: String) async throws(WAMPError) -> WAMPID? {
        try await client.call(Procedure<String, WAMPID?>("wamp.registration.match"), procedure)
    }

    /// What is known of one.
    public func get(_ registration: WAMPID) async throws(WAMPError) -> Info {
        try await client.call(Procedure<WAMPID, Info>("wamp.registration.get"), registration)
    }

    /// The sessions that offer it.
    public func callees(_ registration: WAMPID) async throws(WAMPError) -> [WAMPID] {
        try await client.call(Procedure<WAMPID, [WAMPID]>("wamp.registration.list_callees"), registration)
    }

    /// How many sessions offer it.
    public func calleeCount(_ registration: WAMPID) async throws(WAMPError) -> Int {
        try await client.call(Procedure<WAMPID, Int>("wamp.registration.count_callees"), registration)
    }
}
