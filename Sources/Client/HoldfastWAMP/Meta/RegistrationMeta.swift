public import CodecCore
public import WAMPCore

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
