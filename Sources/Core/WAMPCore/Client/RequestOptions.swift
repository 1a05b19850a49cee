public import CodecCore
internal import MachineCore

/// What a caller may ask for.
public struct CallOptions: Hashable, Sendable {
    /// How a call is cancelled.
    ///
    /// Source: WAMP, "Call Canceling".
    public enum CancelMode: String, Hashable, Sendable, CaseIterable {
        /// The caller no longer waits; the callee goes on.
        case skip
        /// The callee is interrupted, and the router waits for what it says; here the call has ended already.
        case kill
        /// The callee is interrupted, and nobody waits.
        case killNoWait = "killnowait"
    }

    /// How long the result may take, from the call on; nil: for ever.
    ///
    /// Always kept here; what is left of it is also forwarded if the dealer announces `call_timeout`.
    public var timeout: Duration?
    /// Whether parts of the result are wanted as they come.
    public var wantsProgress: Bool
    /// Whether the callee may learn who calls; nil: as the router likes.
    public var discloseMe: Bool?
    /// How the call is cancelled when its task is, or its time is over.
    public var cancelMode: CancelMode
    /// How long the call may wait until the session is joined; nil: not at all, it fails at once with ``ClientFailure/notJoined``.
    public var joinPatience: Duration?
    /// Other options, sent as they are.
    public var other: ValueMap
    /// What the call hands in, and what the client keeps once the router has it.
    package var testament: Testament?

    /// Options: without a timeout, waiting up to 10 s for the session, cancelled with `killnowait`.
    public init(
        timeout: Duration? = nil, wantsProgress: Bool = false, discloseMe: Bool? = nil, cancelMode: CancelMode = .killNoWait,
        joinPatience: Duration? = .seconds(10), other: ValueMap = ValueMap()
    ) {
        (self.timeout, self.wantsProgress, self.discloseMe) = (timeout, wantsProgress, discloseMe)
        (self.cancelMode, self.joinPatience, self.other) = (cancelMode, joinPatience, other)
    }
}

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

/// What a subscriber may ask for.
///
/// Listeners of one ``TopicKey`` share a subscription, and ``other`` of the one who came first. One that comes later and wants the retained
/// event has SUBSCRIBE sent once more for it, and is the only one to get that event.
public struct SubscribeOptions: Hashable, Sendable {
    /// Whether the event that the router keeps for the topic is wanted first.
    public var wantsRetained: Bool
    /// How many events of the router's history are fetched after a gap, at most 1024; 0: none.
    ///
    /// Of a topic of which no event has come yet, those of the time before the subscription are among them.
    ///
    /// What this client itself published to others is left out: the router is asked to acknowledge such events, wanted or not, and one is
    /// among them only if the connection was lost before it did. Source: WAMP, "Event History".
    public var historyAfterGap: Int
    /// Other options, sent as they are.
    public var other: ValueMap

    /// Options: no retained event, and no history.
    public init(wantsRetained: Bool = false, historyAfterGap: Int = 0, other: ValueMap = ValueMap()) {
        (self.wantsRetained, self.historyAfterGap, self.other) = (wantsRetained, historyAfterGap, other)
    }
}

/// How a procedure is offered.
public struct RegisterOptions: Hashable, Sendable {
    /// Who is called where several offer the same procedure.
    ///
    /// Source: WAMP, "Shared Registration".
    public enum Sharing: String, Hashable, Sendable, CaseIterable {
        /// There is one only.
        case single
        /// One after the other.
        case roundRobin = "roundrobin"
        /// Any.
        case random
        /// The one that came first.
        case first
        /// The one that came last.
        case last
    }

    /// How the URI is compared.
    public var match: WAMPMatch
    /// Who is called where several offer it.
    public var sharing: Sharing
    /// Whether a registration of another session is taken over (Crossbar's `force_reregister`).
    public var takesOver: Bool
    /// How long the router may say `procedure_already_exists` after a reconnect, before that counts.
    ///
    /// The session that was lost may live there still.
    public var takeoverPatience: Duration
    /// Other options, sent as they are.
    public var other: ValueMap

    /// Options: exact, alone, and patient for 60 s.
    public init(
        match: WAMPMatch = .exact, sharing: Sharing = .single, takesOver: Bool = false, takeoverPatience: Duration = .seconds(60),
        other: ValueMap = ValueMap()
    ) {
        (self.match, self.sharing, self.takesOver) = (match, sharing, takesOver)
        (self.takeoverPatience, self.other) = (takeoverPatience, other)
    }
}

extension CallOptions {
    /// The options of CALL; what the dealer would not understand is left out.
    func wire(remaining: Duration?, inParts: Bool, router: RouterTraits) -> ValueMap {
        var options = other
        if let remaining, router.timesOut { options["timeout"] = .integer(min(max(remaining.wholeMilliseconds, 1), 1 << 52)) }
        if wantsProgress, router.givesProgress { options["receive_progress"] = true }
        if inParts { options["progress"] = true }
        if let discloseMe { options["disclose_me"] = .bool(discloseMe) }
        return options
    }
}

extension PublishOptions {
    /// The options of PUBLISH.
    var wire: ValueMap {
        var options = other
        if isAcknowledged { options["acknowledge"] = true }
        if !excludesMe { options["exclude_me"] = false }
        excluded.write(into: &options, as: "exclude")
        eligible.write(into: &options, as: "eligible")
        if let discloseMe { options["disclose_me"] = .bool(discloseMe) }
        if isRetained { options["retain"] = true }
        return options
    }
}

extension PublishOptions.Audience {
    func write(into options: inout ValueMap, as name: String) {
        if let sessions { options[.text(name)] = .array(sessions.map { Value($0) }) }
        if let authIDs { options[.text(name + "_authid")] = .array(authIDs.map { .text($0) }) }
        if let authRoles { options[.text(name + "_authrole")] = .array(authRoles.map { .text($0) }) }
    }
}

extension RegisterOptions {
    /// The options of REGISTER.
    var wire: ValueMap {
        var options = other
        if match != .exact { options["match"] = .text(match.rawValue) }
        if sharing != .single { options["invoke"] = .text(sharing.rawValue) }
        if takesOver { options["force_reregister"] = true }
        return options
    }
}
