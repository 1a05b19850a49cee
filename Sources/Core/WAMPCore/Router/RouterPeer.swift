import CodecCore

/// A connection, and its session if it has one.
struct RouterPeer: Sendable {
    /// The phase of a connection.
    enum Phase: Hashable, Sendable {
        /// No hello has come: → examining.
        case silent
        /// The shell authenticates the client: → challenged, joined, or closed.
        case examining(Greeting)
        /// The client has to answer the challenge: → examining.
        case challenged(Greeting)
        /// The connection has a session: → leaving, silent, or closed.
        case joined
        /// The router has said goodbye, and waits for the client's: → silent, or closed.
        case leaving
    }

    /// The content of a hello.
    struct Greeting: Hashable, Sendable {
        let realm: String
        let abilities: PeerAbilities
    }

    /// The transport details that the meta API shows.
    let transport: ValueMap
    /// The address to which limits per address apply.
    var address: String?
    var phase = Phase.silent
    /// The session, while the client is joined.
    var session: PeerSession?

    /// Returns the participant and its realm; nil if the client has not joined.
    ///
    /// It is mutating so that only the result is copied for each message, and not the whole connection.
    mutating func participation() -> (participant: Participant, realm: Int)? {
        guard case .joined = phase, let session else { return nil }
        return (session.participant, session.realm)
    }

    /// Counts a request.
    ///
    /// - Returns: Nil, or the ID that the request should have.
    mutating func count(_ request: WAMPID) -> WAMPID? {
        guard let next = session?.nextRequest, request != next else {
            session?.lastRequest = request
            return nil
        }
        return next
    }
}

/// A session from the point of view of the router.
struct PeerSession: Hashable, Sendable {
    let participant: Participant
    /// The index of the session's realm.
    let realm: Int
    let principal: RouterPrincipal
    /// The ID of the last request; 0: none came.
    var lastRequest: WAMPID = 0
    var testaments = Testaments()
    /// The holders, besides the session itself, for which the session's bytes count.
    var holders: [RetentionOwner] = []
    /// The session's kept bytes when they were last counted.
    var notedBytes = 0

    /// The ID that the next request must have.
    ///
    /// Source: WAMP, "Identifiers".
    var nextRequest: WAMPID { lastRequest == .largestWAMPID ? 1 : lastRequest + 1 }
}

/// A session from the point of view of its realm's broker and dealer.
struct Participant: Hashable, Sendable {
    let connection: RouterConnection
    let session: WAMPID
    let authID: String
    let authRole: String
    /// The features that the client announced in its hello.
    let abilities: PeerAbilities
    /// The user or address for which its retained events are kept after it has left.
    var holder: RetentionOwner?

    /// Whether the session, as a callee, accepts progressive input; this also requires that it can be interrupted.
    ///
    /// Source: WAMP, "Progressive Call Invocations".
    var takesParts: Bool { abilities.isSuperset(of: [.parts, .interrupts]) }
}

/// The announced features of a client that the router uses.
struct PeerAbilities: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    /// The callee supports INTERRUPT.
    static let interrupts = PeerAbilities(rawValue: 1)
    /// The callee accepts more input for an INVOCATION.
    static let parts = PeerAbilities(rawValue: 2)
    /// The caller may send the input of a call in parts.
    static let sendsParts = PeerAbilities(rawValue: 4)
    /// The subscriber understands a revoked subscription.
    static let lostSubscriptions = PeerAbilities(rawValue: 8)
    /// The callee understands a revoked registration.
    static let lostRegistrations = PeerAbilities(rawValue: 16)
}

extension PeerAbilities {
    /// Reads the features that the details of a HELLO announce.
    ///
    /// - Returns: Nil if they name no role, although each hello must. Source: WAMP, "Client: Role and Feature Announcement".
    init?(hello details: ValueMap) {
        guard let roles = details["roles"]?.entries else { return nil }
        let known: [Value] = ["publisher", "subscriber", "caller", "callee"]
        guard known.contains(where: { roles[$0]?.entries != nil }) else { return nil }
        self = []
        func has(_ role: Value, _ feature: String) -> Bool { roles[role]?["features"]?[feature]?.bool == true }
        // Both spellings are in use.
        if has("callee", "call_canceling") || has("callee", "call_cancelling") { insert(.interrupts) }
        if has("callee", "progressive_call_invocations") { insert(.parts) }
        if has("caller", "progressive_call_invocations") { insert(.sendsParts) }
        if has("subscriber", "subscription_revocation") { insert(.lostSubscriptions) }
        if has("callee", "registration_revocation") { insert(.lostRegistrations) }
    }
}
