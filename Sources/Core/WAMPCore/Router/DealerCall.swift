import CodecCore

extension Dealer {
    /// A call, by its caller's session and request.
    struct CallKey: Hashable, Sendable, Comparable {
        let caller: WAMPID
        let request: WAMPID

        static func < (one: CallKey, other: CallKey) -> Bool { (one.caller, one.request) < (other.caller, other.request) }
    }

    /// An invocation, by its callee's session and request, and the registration through which it came.
    struct Invocation: Hashable, Sendable {
        let callee: WAMPID
        let request: WAMPID
        let registration: WAMPID
    }

    /// A call that waits for its result.
    struct Call: Hashable, Sendable {
        let procedure: String
        /// What it made of its callee.
        var invocation: Invocation
        /// What its further parts made; see ``RouterPolicy/Quirks/invokesEachPart``.
        var others: [Invocation] = []
        /// What every INVOCATION of it says, but for `progress`: options of further parts do not count.
        ///
        /// Source: WAMP, "Freezing of Options in Progressive Call Invocations".
        let details: ValueMap
        /// More input comes.
        var isOpen: Bool
        /// More input came, or was to.
        let comesInParts: Bool
        /// The caller takes results in parts.
        let wantsProgress: Bool
        /// How long the first result, and each after another, may take; nil: for ever, or the callee keeps it.
        let timeout: Duration?
        /// The callee was told to stop, and the caller waits for what it says.
        var isInterrupted = false
        /// What it counts for its caller, in bytes; see ``Dealer/freeCalls``.
        var bytes = 0
    }

    /// What a session has to do with the dealer.
    struct Member: Hashable, Sendable {
        let participant: Participant
        /// By registration.
        var offers: [WAMPID: Offer] = [:]
        /// What those take, in bytes.
        var offerBytes = 0
        /// By the caller's request.
        var calls: [WAMPID: Call] = [:]
        /// What those take that count, in bytes.
        var callBytes = 0
        /// By the request of INVOCATION.
        var invocations: [WAMPID: CallKey] = [:]
        var lastInvocation: WAMPID = 0
        /// Calls that ended before their last part came: what still comes of them is no violation.
        private(set) var abandoned: Set<WAMPID> = []
        /// More of them than are remembered.
        private(set) var hasForgotten = false

        init(_ participant: Participant) { self.participant = participant }

        // These change nothing, but are mutating: so a member is looked at where it stands, and not copied out of its place.

        /// How many calls wait.
        var waiting: Int { mutating get { calls.count } }

        /// A call that waits, and how many do.
        mutating func standing(of request: WAMPID) -> (call: Call?, count: Int) { (calls[request], calls.count) }

        /// What it said when it offered this, and what it can do.
        mutating func offer(_ registration: WAMPID) -> (offer: Offer, abilities: PeerAbilities)? {
            offers[registration].map { ($0, participant.abilities) }
        }

        /// The call of an invocation.
        mutating func call(of request: WAMPID) -> CallKey? { invocations[request] }

        /// Where it is, and a call of its own.
        mutating func caller(of request: WAMPID) -> (connection: RouterConnection, call: Call)? {
            calls[request].map { (participant.connection, $0) }
        }

        /// Is called; under this number, or the next of its own.
        mutating func take(
            _ key: CallKey, through registration: WAMPID, as number: WAMPID?
        ) -> (request: WAMPID, connection: RouterConnection) {
            lastInvocation = number ?? lastInvocation + 1
            invocations[lastInvocation] = key
            if offers[registration]?.capacity != nil { offers[registration]?.load += 1 }
            return (lastInvocation, participant.connection)
        }

        /// An invocation is over.
        mutating func release(_ request: WAMPID, through registration: WAMPID) {
            guard invocations.removeValue(forKey: request) != nil, offers[registration]?.capacity != nil else { return }
            offers[registration]?.load -= 1
        }

        /// How many calls are remembered that ended before their last part came.
        static let mostAbandoned = 256

        mutating func abandon(_ request: WAMPID, limit: Int) {
            guard abandoned.count < min(limit, Self.mostAbandoned) else { return hasForgotten = true }
            abandoned.insert(request)
        }

        /// Whether a part may be of a call that ended before.
        mutating func expects(_ request: WAMPID, isLast: Bool) -> Bool {
            (isLast ? abandoned.remove(request) != nil : abandoned.contains(request)) || hasForgotten
        }
    }
}
