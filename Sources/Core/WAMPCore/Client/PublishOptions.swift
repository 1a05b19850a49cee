public import CodecCore

/// What a publisher may ask for.
public struct PublishOptions: Hashable, Sendable {
    /// Sessions, by what the router knows of them.
    ///
    /// Source: WAMP, "Subscriber Black- and Whitelisting".
    public struct Audience: Hashable, Sendable {
        /// Their ids.
        public var sessions: [WAMPID]?
        /// Who they are.
        public var authIDs: [String]?
        /// As what they joined.
        public var authRoles: [String]?

        /// Those of any of these; nil: the list is not sent.
        public init(sessions: [WAMPID]? = nil, authIDs: [String]? = nil, authRoles: [String]? = nil) {
            (self.sessions, self.authIDs, self.authRoles) = (sessions, authIDs, authRoles)
        }
    }

    /// Whether the router is to say that it has taken the event.
    ///
    /// Otherwise it counts as published as soon as a session sends it, also if the connection is lost before it has left.
    public var isAcknowledged: Bool
    /// Whether the publisher itself, as a subscriber, does not get the event.
    public var excludesMe: Bool
    /// Who does not get the event.
    public var excluded: Audience
    /// Who alone gets the event.
    public var eligible: Audience
    /// Whether subscribers may learn who publishes; nil: as the router likes.
    public var discloseMe: Bool?
    /// Whether the router keeps the event for those who subscribe later and ask for it.
    public var isRetained: Bool
    /// How long the event may wait until the session is joined, and for its acknowledgement; nil: it does not wait for the session.
    public var patience: Duration?
    /// Other options, sent as they are.
    public var other: ValueMap

    /// Options: without acknowledgement, to all others, waiting up to 10 s.
    public init(
        isAcknowledged: Bool = false, excludesMe: Bool = true, excluded: Audience = Audience(), eligible: Audience = Audience(),
        discloseMe: Bool? = nil, isRetained: Bool = false, patience: Duration? = .seconds(10), other: ValueMap = ValueMap()
    ) {
        (self.isAcknowledged, self.excludesMe, self.excluded, self.eligible) = (isAcknowledged, excludesMe, excluded, eligible)
        (self.discloseMe, self.isRetained, self.patience, self.other) = (discloseMe, isRetained, patience, other)
    }
}
