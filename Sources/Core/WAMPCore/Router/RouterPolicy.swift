public import CodecCore
import MachineCore

/// The rules and limits of a router.
public struct RouterPolicy: Hashable, Sendable {
    /// Behaviour of other routers, for tests of clients.
    ///
    /// By default everything is off, as the specification requires.
    public struct Quirks: Hashable, Sendable {
        /// Accepts request IDs with gaps, repeated request IDs, and 0.
        public var acceptsAnyRequestID = false
        /// Counts INVOCATION requests per realm, not per session.
        public var numbersInvocationsByRealm = false
        /// Never answers a CANCEL with `skip`, or a CANCEL for a callee that cannot be interrupted.
        public var leavesSkippedCallsUnanswered = false
        /// Forwards a timeout to the callee and does not enforce it.
        public var onlyForwardsTimeouts = false
        /// Sends a new INVOCATION for each part of progressive input.
        public var invokesEachPart = false
        /// Answers a GOODBYE with `wamp.close.normal` and keeps the connection open.
        public var staysOpenAfterGoodbye = false
        /// Does not report that it revoked a registration or subscription.
        public var concealsRevocation = false
        /// Answers a CALL with an invalid URI as if nobody had registered the procedure.
        public var callsInvalidURIsUnknown = false
        /// Lets `force_reregister` take over a registration.
        public var allowsTakeover = false
        /// Closes the connection on an invalid URI in a CALL, with WebSocket code 1011 and without a WAMP message.
        public var closesOnInvalidURIs = false
        /// Disconnects a client that violates the protocol without an ABORT.
        public var closesWithoutAbort = false
        /// Drops all connections at shutdown, without GOODBYE and without a close frame.
        public var goesWithoutGoodbye = false
        /// Names the callee in RESULT and ERROR of a call: `callee`, `callee_authid`, `callee_authrole`.
        public var namesCallees = false
        /// The error URI for clients without a common authentication method; nil: `wamp.error.no_matching_auth_method`.
        public var refusesMethodsAs: String?
        /// Sends bytes to JSON clients as plain Base64, so that they cannot be distinguished from texts.
        public var writesPlainBase64 = false
        /// Treats options of a wrong type as missing, and ignores invalid messages.
        public var ignoresMistakes = false

        /// Creates quirks with everything off.
        public init() {}
        /// The behaviour of Crossbar, as observed with 26.10.1.
        public static var crossbar: Quirks {
            var quirks = Quirks()
            (quirks.acceptsAnyRequestID, quirks.numbersInvocationsByRealm, quirks.leavesSkippedCallsUnanswered) = (true, true, true)
            (quirks.onlyForwardsTimeouts, quirks.invokesEachPart, quirks.staysOpenAfterGoodbye) = (true, true, true)
            (quirks.allowsTakeover, quirks.closesOnInvalidURIs, quirks.closesWithoutAbort) = (true, true, true)
            (quirks.goesWithoutGoodbye, quirks.namesCallees) = (true, true)
            quirks.refusesMethodsAs = "wamp.error.no_auth_method"
            return quirks
        }
        /// The behaviour of nexus, as observed with 3.3.
        public static var nexus: Quirks {
            var quirks = Quirks()
            (quirks.acceptsAnyRequestID, quirks.concealsRevocation, quirks.callsInvalidURIsUnknown) = (true, true, true)
            (quirks.writesPlainBase64, quirks.ignoresMistakes) = (true, true)
            quirks.refusesMethodsAs = WAMPURI.Error.authenticationFailed
            return quirks
        }
    }

    /// The realms that clients can join; nil: any realm, created with its first session.
    public var realms: Set<String>?
    /// Whether URIs may contain only lower-case letters, digits and `_`.
    public var hasStrictURIs: Bool
    /// Whether clients may call the meta API and receive its events.
    public var hasMetaAPI: Bool
    /// Whether sessions may kill others through the meta API (`wamp.session.kill` and similar); if not: `wamp.error.not_authorized`.
    ///
    /// It lets every session end all others, unless the router's authorization denies the call.
    public var allowsKilling: Bool
    /// Whether the router discloses callers and publishers to everybody; nil: they decide themselves.
    public var discloses: Bool?
    /// The time limit for a client's hello, and for its answer to a challenge.
    public var joinPatience: Duration
    /// The time limit for a client's answer to a goodbye.
    public var goodbyePatience: Duration
    /// The time limit for a callee's answer to an interrupt of mode `kill`.
    public var interruptPatience: Duration
    /// The maximum number of realms at once, if any realm can be joined.
    ///
    /// When a further realm is needed, the router removes a realm without sessions, with all its data: of the address that has the most
    /// data in such realms, the one that was left first. If every realm has sessions, it refuses the client.
    public var maximumRealms: Int
    /// The maximum number of these created from one address; above it, too, a realm without sessions goes, or the client is refused.
    public var maximumRealmsByAddress: Int
    /// The maximum length of a URI in bytes.
    public var maximumURI: Int
    /// The maximum number of subscriptions of a session.
    public var maximumSubscriptions: Int
    /// The maximum number of registrations of a session.
    public var maximumRegistrations: Int
    /// The maximum number of pending calls of a session.
    public var maximumCalls: Int
    /// The maximum number of testaments of a session.
    public var maximumTestaments: Int
    /// The maximum number of retained events in a realm; further events are delivered, but not retained.
    public var maximumRetained: Int
    /// The approximate maximum of bytes kept for a session.
    ///
    /// They count subscriptions, registrations, testaments, retained events, and all pending calls but 64. The router refuses what
    /// exceeds it with `wamp.error.unavailable`, including a publication that is to be retained. Retained events outlive their session;
    /// then they count for the realm alone.
    public var maximumKeptBySession: Int
    /// The same for all sessions of an authenticated user, in all realms.
    public var maximumKeptByUser: Int
    /// The same for all sessions of an address, in all realms; for IPv6 the first 64 bits count.
    public var maximumKeptByAddress: Int
    /// The approximate maximum of bytes kept in a realm: the data of all sessions, and histories.
    ///
    /// When it is reached, the router drops retained events of sessions that have left, first those of the user or address with the most,
    /// and older events of the longest histories. It refuses what still does not fit.
    public var maximumKeptInRealm: Int
    /// The approximate maximum of bytes kept in all realms; to stay below it, the router removes realms without sessions.
    public var maximumKept: Int
    /// The number of last events of a subscription that are kept for `wamp.subscription.get_events`; 0: none.
    ///
    /// One answer holds about 512 KiB of events, or a single longer event; a client asks again for the events that follow. With a
    /// history, a subscription stays when its last subscriber leaves, so that a client that comes back finds the events that it missed.
    public var historyLength: Int
    /// Behaviour of other routers.
    public var quirks: Quirks
    /// The maximum number of subscriptions of a realm that stay only for their history; above it, the one that was left first is removed.
    public var maximumHistories: Int
    /// The wall-clock time at `Moment.start`, for timestamps in the meta API.
    ///
    /// A router with its own clock sets it to the current time, whatever was given.
    public var epoch: Timestamp
    /// The router's name for clients.
    public var agent: String

    /// Creates a policy.
    ///
    /// The defaults: any realm, loose URIs of up to 1,024 bytes, the meta API without killing, 10 s to join, 2 s for a goodbye, 5 s for
    /// an interrupt, 1,024 realms (64 of an address), 4,096 subscriptions, registrations and calls and 64 testaments per session, 65,536
    /// retained events per realm, no history.
    ///
    /// The router keeps up to 4 MiB for a session, 16 MiB for a user, 32 MiB for an address, 64 MiB in a realm, and 256 MiB in all.
    public init(
        realms: Set<String>? = nil, hasStrictURIs: Bool = false, hasMetaAPI: Bool = true, allowsKilling: Bool = false,
        discloses: Bool? = nil,
        joinPatience: Duration = .seconds(10), goodbyePatience: Duration = .seconds(2), interruptPatience: Duration = .seconds(5),
        maximumRealms: Int = 1024, maximumRealmsByAddress: Int = 64, maximumURI: Int = 1024, maximumSubscriptions: Int = 4096,
        maximumRegistrations: Int = 4096,
        maximumCalls: Int = 4096, maximumTestaments: Int = 64, maximumRetained: Int = 65536, historyLength: Int = 0,
        maximumHistories: Int = 1024, maximumKeptBySession: Int = 4 << 20, maximumKeptByUser: Int = 16 << 20,
        maximumKeptByAddress: Int = 32 << 20, maximumKeptInRealm: Int = 64 << 20, maximumKept: Int = 256 << 20,
        epoch: Timestamp = Timestamp(seconds: 0), quirks: Quirks = Quirks(), agent: String = "holdfast"
    ) {
        (self.realms, self.hasStrictURIs, self.hasMetaAPI, self.discloses) = (realms, hasStrictURIs, hasMetaAPI, discloses)
        (self.allowsKilling, self.maximumRealmsByAddress) = (allowsKilling, maximumRealmsByAddress)
        (self.joinPatience, self.goodbyePatience, self.interruptPatience) = (joinPatience, goodbyePatience, interruptPatience)
        (self.maximumRealms, self.maximumURI, self.maximumSubscriptions) = (maximumRealms, maximumURI, maximumSubscriptions)
        (self.maximumRegistrations, self.maximumCalls, self.maximumTestaments) = (maximumRegistrations, maximumCalls, maximumTestaments)
        (self.maximumRetained, self.historyLength, self.maximumHistories) = (maximumRetained, historyLength, maximumHistories)
        (self.maximumKeptByUser, self.maximumKeptByAddress) = (maximumKeptByUser, maximumKeptByAddress)
        (self.maximumKeptBySession, self.maximumKeptInRealm, self.maximumKept) = (maximumKeptBySession, maximumKeptInRealm, maximumKept)
        (self.epoch, self.quirks, self.agent) = (epoch, quirks, agent)
    }

    /// Returns the wall-clock time at a moment.
    func time(at moment: Moment) -> Timestamp {
        let passed = moment.offset.components
        let nanoseconds = Int64(epoch.nanoseconds) + passed.attoseconds / 1_000_000_000
        let (carry, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let seconds = epoch.seconds.addingReportingOverflow(passed.seconds + carry)
        guard !seconds.overflow, rest >= 0 else { return epoch }
        return Timestamp(seconds: seconds.partialValue, nanoseconds: UInt32(rest)) ?? epoch
    }

    /// Returns whether this is a valid topic or procedure URI.
    func allows(uri: String) -> Bool { uri.utf8.count <= maximumURI && WAMPURI.isValid(uri, strict: hasStrictURIs) }

    /// Returns whether this is a valid URI for a subscription or registration.
    func allows(pattern: String, _ match: WAMPMatch) -> Bool {
        pattern.utf8.count <= maximumURI && WAMPURI.isValid(pattern, match, strict: hasStrictURIs)
    }
}
