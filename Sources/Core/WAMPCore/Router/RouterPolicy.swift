public import CodecCore
import MachineCore

/// What a router allows, and within which bounds it works.
public struct RouterPolicy: Hashable, Sendable {
    /// Habits of other routers, for tests of clients.
    ///
    /// All off: as the specification has it.
    public struct Quirks: Hashable, Sendable {
        /// Ids of requests may have gaps, come again, or be 0.
        public var acceptsAnyRequestID = false
        /// INVOCATION counts through the realm, not through each session.
        public var numbersInvocationsByRealm = false
        /// A CANCEL with `skip`, or for a callee that cannot be interrupted, is never answered.
        public var leavesSkippedCallsUnanswered = false
        /// A timeout is forwarded to the callee, and not kept here.
        public var onlyForwardsTimeouts = false
        /// Input that comes in parts makes a new INVOCATION for each.
        public var invokesEachPart = false
        /// A GOODBYE is answered with `wamp.close.normal`, and the connection stays open.
        public var staysOpenAfterGoodbye = false
        /// A registration or subscription that is taken away is not told.
        public var concealsRevocation = false
        /// An invalid URI in a CALL is answered as one that nobody offers.
        public var callsInvalidURIsUnknown = false
        /// `force_reregister` takes a registration over.
        public var allowsTakeover = false
        /// An invalid URI in a CALL ends the connection with WebSocket's code 1011, and no word of WAMP.
        public var closesOnInvalidURIs = false
        /// Whoever breaks the protocol is cut off without an ABORT.
        public var closesWithoutAbort = false
        /// A router that stops cuts all connections, without GOODBYE and without a close frame.
        public var goesWithoutGoodbye = false
        /// A call's RESULT and ERROR name who answered: `callee`, `callee_authid`, `callee_authrole`.
        public var namesCallees = false
        /// What clients are told that offer no method the router has; nil: `wamp.error.no_matching_auth_method`.
        public var refusesMethodsAs: String?
        /// Bytes go to clients that speak JSON as Base64 alone, so that it cannot be told from a text.
        public var writesPlainBase64 = false
        /// Options of a wrong type count as missing, and what is no message is ignored.
        public var ignoresMistakes = false

        /// No habits.
        public init() {}
        /// What Crossbar does, as seen of 26.10.1.
        public static var crossbar: Quirks {
            var quirks = Quirks()
            (quirks.acceptsAnyRequestID, quirks.numbersInvocationsByRealm, quirks.leavesSkippedCallsUnanswered) = (true, true, true)
            (quirks.onlyForwardsTimeouts, quirks.invokesEachPart, quirks.staysOpenAfterGoodbye) = (true, true, true)
            (quirks.allowsTakeover, quirks.closesOnInvalidURIs, quirks.closesWithoutAbort) = (true, true, true)
            (quirks.goesWithoutGoodbye, quirks.namesCallees) = (true, true)
            quirks.refusesMethodsAs = "wamp.error.no_auth_method"
            return quirks
        }
        /// What nexus does, as seen of 3.3.
        public static var nexus: Quirks {
            var quirks = Quirks()
            (quirks.acceptsAnyRequestID, quirks.concealsRevocation, quirks.callsInvalidURIsUnknown) = (true, true, true)
            (quirks.writesPlainBase64, quirks.ignoresMistakes) = (true, true)
            quirks.refusesMethodsAs = WAMPURI.Error.authenticationFailed
            return quirks
        }
    }

    /// The realms that can be joined; nil: any, each made with its first session.
    public var realms: Set<String>?
    /// Whether URIs consist of lower-case letters, digits and `_` only.
    public var hasStrictURIs: Bool
    /// Whether clients may call the meta API, and hear its events.
    public var hasMetaAPI: Bool
    /// Whether a session may end others by the meta API (`wamp.session.kill` and its kin); if not, `wamp.error.not_authorized`.
    ///
    /// It lets every session end all others, unless the router's authorization denies the call.
    public var allowsKilling: Bool
    /// Whether callers and publishers are told to everybody; nil: as they wish.
    public var discloses: Bool?
    /// How long a client may take to say hello, and to answer a challenge.
    public var joinPatience: Duration
    /// How long a client may take to answer a goodbye.
    public var goodbyePatience: Duration
    /// How long a callee may take to answer an interrupt of the mode `kill`.
    public var interruptPatience: Duration
    /// How many realms there may be at a time, if any can be joined.
    ///
    /// When another is wanted, one that nobody is in goes with all that it keeps, the one left first; if there is none, nobody gets in.
    public var maximumRealms: Int
    /// How many of them clients of one address may have made; beyond that, too, the one goes that nobody is in, or nobody gets in.
    public var maximumRealmsByAddress: Int
    /// How long a URI may be, in bytes.
    public var maximumURI: Int
    /// How many subscriptions a session may have.
    public var maximumSubscriptions: Int
    /// How many registrations a session may have.
    public var maximumRegistrations: Int
    /// How many calls of a session may wait for their results.
    public var maximumCalls: Int
    /// How many testaments a session may leave.
    public var maximumTestaments: Int
    /// How many retained events a realm may have; events of more topics are delivered, but not kept.
    public var maximumRetained: Int
    /// How many bytes, about, are kept for a session: its subscriptions, registrations, testaments, retained events, and all but 64 of its
    /// calls that wait.
    ///
    /// What would take more is refused, `wamp.error.unavailable`: also a publication that is to be retained. Retained events outlive their
    /// session; then they count for the realm alone.
    public var maximumKeptBySession: Int
    /// The same for all sessions of a user that has proven who it is, in all realms.
    public var maximumKeptByUser: Int
    /// The same for all sessions of an address, in all realms; of IPv6 the first 64 bits count.
    public var maximumKeptByAddress: Int
    /// How many bytes, about, are kept in a realm: all that sessions have, and histories.
    ///
    /// When there is no room, retained events of sessions that have left go, first those of the user or address that has left most, and
    /// older events of the longest histories; what still has none is refused.
    public var maximumKeptInRealm: Int
    /// How many bytes, about, are kept in all realms; before they are, realms that nobody is in go, the one left first in front.
    public var maximumKept: Int
    /// How many of the last events of a subscription are kept for `wamp.subscription.get_events`; 0: none.
    ///
    /// One answer holds 512 KiB of them, about, or a single one that is longer; whoever wants more asks again for those that follow.
    /// With a history a subscription stays when its last subscriber goes, so that whoever comes back finds what it has missed.
    public var historyLength: Int
    /// Habits of other routers.
    public var quirks: Quirks
    /// How many subscriptions of a realm stay for their history alone; beyond that the one left first goes.
    public var maximumHistories: Int
    /// The time of day at `Moment.start`, for what the meta API dates.
    ///
    /// A router with a clock of its own puts its present here, whatever was given.
    public var epoch: Timestamp
    /// What the router calls itself.
    public var agent: String

    /// A policy: any realm, loose URIs of up to 1,024 bytes, the meta API without killing, 10 s to join, 2 s for a goodbye, 5 s for an interrupt,
    /// 1,024 realms (64 of an address), 4,096 subscriptions, registrations and calls and 64 testaments a session, 65,536 retained events a realm, no history;
    /// 4 MiB are kept for a session, 16 MiB for a user, 32 MiB for an address, 64 MiB in a realm, 256 MiB in all.
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

    /// The time of day at a moment.
    func time(at moment: Moment) -> Timestamp {
        let passed = moment.offset.components
        let nanoseconds = Int64(epoch.nanoseconds) + passed.attoseconds / 1_000_000_000
        let (carry, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let seconds = epoch.seconds.addingReportingOverflow(passed.seconds + carry)
        guard !seconds.overflow, rest >= 0 else { return epoch }
        return Timestamp(seconds: seconds.partialValue, nanoseconds: UInt32(rest)) ?? epoch
    }

    /// Whether this may be a topic or procedure.
    func allows(uri: String) -> Bool { uri.utf8.count <= maximumURI && WAMPURI.isValid(uri, strict: hasStrictURIs) }

    /// Whether this may be subscribed to or registered.
    func allows(pattern: String, _ match: WAMPMatch) -> Bool {
        pattern.utf8.count <= maximumURI && WAMPURI.isValid(pattern, match, strict: hasStrictURIs)
    }
}
