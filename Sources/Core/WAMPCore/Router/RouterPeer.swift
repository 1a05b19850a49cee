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
