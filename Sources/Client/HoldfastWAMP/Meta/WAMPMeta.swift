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
