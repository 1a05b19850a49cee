import CodecCore

/// A connection, and the session that it has.
struct Visit: Sendable {
    /// How far it has come.
    enum Phase: Hashable, Sendable {
        /// Nobody has said hello: → examining.
        case silent
        /// The shell finds out who it is: → challenged, joined, or closed.
        case examining(Greeting)
        /// The client has to answer the challenge: → examining.
        case challenged(Greeting)
        /// It has a session: → leaving, silent, or closed.
        case joined
        /// The router has said goodbye, and waits for the client's: → silent, or closed.
        case leaving
    }

    /// What a hello asked for.
    struct Greeting: Hashable, Sendable {
        let realm: String
        let abilities: PeerAbilities
    }

    /// The meta API shows it.
    let transport: ValueMap
    /// What limits per address count.
    var address: String?
    var phase = Phase.silent
    /// While it is joined.
    var session: RouterSession?

    /// Who has joined, and where; nil if nobody has.
    ///
    /// It is mutating so that only this is copied out of its place, for each message.
    mutating func seat() -> (participant: Participant, realm: Int)? {
        guard case .joined = phase, let session else { return nil }
        return (session.participant, session.realm)
    }

    /// Takes note of a request.
    ///
    /// - Returns: nil, or the id that it should have.
    mutating func count(_ request: WAMPID) -> WAMPID? {
        guard let next = session?.nextRequest, request != next else {
            session?.lastRequest = request
            return nil
        }
        return next
    }
}

/// A session, as the router knows it.
struct RouterSession: Hashable, Sendable {
    let participant: Participant
    /// The index of its realm.
    let realm: Int
    let principal: RouterPrincipal
    /// The id of its last request; 0: none came.
    var lastRequest: WAMPID = 0
    var testaments = Testaments()
    /// For whom it is kept what the session has, beside the session itself.
    var holders: [KeepingHolder] = []
    /// What the session had when that was last noted.
    var notedBytes = 0

    /// The id that its next request has to have.
    ///
    /// Source: WAMP, "Identifiers".
    var nextRequest: WAMPID { lastRequest == .largestWAMPID ? 1 : lastRequest + 1 }
}
