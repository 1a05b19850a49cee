public import CodecCore
internal import MachineCore

/// The options of a call.
public struct CallOptions: Hashable, Sendable {
    /// How a call is cancelled.
    ///
    /// Source: WAMP, "Call Canceling".
    public enum CancelMode: String, Hashable, Sendable, CaseIterable {
        /// The caller stops waiting; the callee continues.
        case skip
        /// The router interrupts the callee and waits for its answer; on the caller's side the call has ended already.
        case kill
        /// The router interrupts the callee and does not wait for its answer.
        case killNoWait = "killnowait"
    }

    /// The time limit for the result, from the start of the call; nil: no limit.
    ///
    /// The client always enforces it. If the dealer announces `call_timeout`, the client also sends the remaining time.
    public var timeout: Duration?
    /// Whether the caller wants partial results as they come.
    public var wantsProgress: Bool
    /// Whether the router may disclose the caller to the callee; nil: the router decides.
    public var discloseMe: Bool?
    /// How the call is cancelled when its task is cancelled or its time is over.
    public var cancelMode: CancelMode
    /// How long the call may wait for a joined session; nil: it does not wait and fails at once with ``ClientFailure/notJoined``.
    public var joinPatience: Duration?
    /// Further options, sent unchanged.
    public var other: ValueMap
    /// The testament that the call sets; the client keeps it once the router has accepted it.
    package var testament: Testament?

    /// Creates options; by default without a timeout, waiting up to 10 s for the session, cancelled with `killnowait`.
    public init(
        timeout: Duration? = nil, wantsProgress: Bool = false, discloseMe: Bool? = nil, cancelMode: CancelMode = .killNoWait,
        joinPatience: Duration? = .seconds(10), other: ValueMap = ValueMap()
    ) {
        (self.timeout, self.wantsProgress, self.discloseMe) = (timeout, wantsProgress, discloseMe)
        (self.cancelMode, self.joinPatience, self.other) = (cancelMode, joinPatience, other)
    }
}

/// The options of a publication.
public struct PublishOptions: Hashable, Sendable {
    /// A set of sessions, selected by ID, authid or authrole.
    ///
    /// Source: WAMP, "Subscriber Black- and Whitelisting".
    public struct Audience: Hashable, Sendable {
        /// The IDs of sessions.
        public var sessions: [WAMPID]?
        /// The authids of sessions.
        public var authIDs: [String]?
        /// The authroles of sessions.
        public var authRoles: [String]?

        /// Creates an audience of the sessions that any of the lists names; a list that is nil is not sent.
        public init(sessions: [WAMPID]? = nil, authIDs: [String]? = nil, authRoles: [String]? = nil) {
            (self.sessions, self.authIDs, self.authRoles) = (sessions, authIDs, authRoles)
        }
    }

    /// Whether the router acknowledges the event.
    ///
    /// Without acknowledgement the event counts as published as soon as a session sends it, even if the connection is lost before it
    /// leaves.
    public var isAcknowledged: Bool
    /// Whether the publisher itself gets no event, although it is a subscriber.
    public var excludesMe: Bool
    /// The sessions that do not get the event.
    public var excluded: Audience
    /// The only sessions that get the event.
    public var eligible: Audience
    /// Whether the router may disclose the publisher to subscribers; nil: the router decides.
    public var discloseMe: Bool?
    /// Whether the router keeps the event for later subscribers that ask for it.
    public var isRetained: Bool
    /// The time limit for the session to be joined and for the acknowledgement; nil: the event does not wait for the session.
    public var patience: Duration?
    /// Further options, sent unchanged.
    public var other: ValueMap

    /// Creates options; by default without acknowledgement, to all others, waiting up to 10 s.
    public init(
        isAcknowledged: Bool = false, excludesMe: Bool = true, excluded: Audience = Audience(), eligible: Audience = Audience(),
        discloseMe: Bool? = nil, isRetained: Bool = false, patience: Duration? = .seconds(10), other: ValueMap = ValueMap()
    ) {
        (self.isAcknowledged, self.excludesMe, self.excluded, self.eligible) = (isAcknowledged, excludesMe, excluded, eligible)
        (self.discloseMe, self.isRetained, self.patience, self.other) = (discloseMe, isRetained, patience, other)
    }
}

/// The options of a subscription.
///
/// Listeners with the same ``TopicKey`` share a subscription, and the ``other`` options of the first one. If a later listener wants the
/// retained event, the client sends SUBSCRIBE again for it, and only this listener gets that event.
public struct SubscribeOptions: Hashable, Sendable {
    /// Whether the listener first gets the event that the router retains for the topic.
    public var wantsRetained: Bool
    /// The number of events that the client fetches from the router's history after a gap, at most 1024; 0: none.
    ///
    /// If no event of the topic has come yet, events from before the subscription are included.
    ///
    /// The events that this client itself published to others are left out. For this, the client asks the router to acknowledge such
    /// events, whatever the caller wants. One of them is included only if the connection was lost before the acknowledgement came.
    /// Source: WAMP, "Event History".
    public var historyAfterGap: Int
    /// Further options, sent unchanged.
    public var other: ValueMap

    /// Creates options; by default without the retained event and without history.
    public init(wantsRetained: Bool = false, historyAfterGap: Int = 0, other: ValueMap = ValueMap()) {
        (self.wantsRetained, self.historyAfterGap, self.other) = (wantsRetained, historyAfterGap, other)
    }
}

/// The options of a registration.
public struct RegisterOptions: Hashable, Sendable {
    /// Which callee the router calls if several have registered the procedure.
    ///
    /// Source: WAMP, "Shared Registration".
    public enum Sharing: String, Hashable, Sendable, CaseIterable {
        /// Only one callee may register the procedure.
        case single
        /// The callees take turns.
        case roundRobin = "roundrobin"
        /// A random callee.
        case random
        /// The callee that registered first.
        case first
        /// The callee that registered last.
        case last
    }

    /// How the URI is matched.
    public var match: WAMPMatch
    /// Which callee the router calls if several have registered the procedure.
    public var sharing: Sharing
    /// Whether this registration takes over that of another session (Crossbar's `force_reregister`).
    public var takesOver: Bool
    /// How long `procedure_already_exists` is ignored after a reconnect.
    ///
    /// The router may still hold the registration of the lost session.
    public var takeoverPatience: Duration
    /// Further options, sent unchanged.
    public var other: ValueMap

    /// Creates options; by default an exact match, one callee only, and a takeover patience of 60 s.
    public init(
        match: WAMPMatch = .exact, sharing: Sharing = .single, takesOver: Bool = false, takeoverPatience: Duration = .seconds(60),
        other: ValueMap = ValueMap()
    ) {
        (self.match, self.sharing, self.takesOver) = (match, sharing, takesOver)
        (self.takeoverPatience, self.other) = (takeoverPatience, other)
    }
}

extension CallOptions {
    /// Returns the options of CALL, without those that the dealer does not support.
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
