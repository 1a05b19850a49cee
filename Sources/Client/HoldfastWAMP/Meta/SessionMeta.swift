public import CodecCore
public import WAMPCore

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
