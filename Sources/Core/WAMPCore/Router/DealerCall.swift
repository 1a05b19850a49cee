import CodecCore
import MachineCore

extension Dealer {
    /// A procedure, or a pattern of them, and who offers it.
    struct Registration: Hashable, Sendable {
        let id: WAMPID
        let uri: String
        let match: WAMPMatch
        let sharing: RegisterOptions.Sharing
        let created: Moment
        /// The sessions that offer it, in the order in which they came.
        private(set) var callees: [WAMPID] = []
        /// Whether some of them take only so many calls at once.
        private(set) var isBounded = false
        /// Whose turn it is.
        private var turn = 0

        init(id: WAMPID, uri: String, match: WAMPMatch, sharing: RegisterOptions.Sharing, created: Moment) {
            (self.id, self.uri, self.match, self.sharing, self.created) = (id, uri, match, sharing, created)
        }

        mutating func add(_ callee: WAMPID, isBounded: Bool) {
            callees.append(callee)
            if isBounded { self.isBounded = true }
        }

        mutating func remove(_ callee: WAMPID) {
            guard let place = callees.firstIndex(of: callee) else { return }
            callees.remove(at: place)
            if place < turn { turn -= 1 }
        }

        /// The callee that is called next, of those that are free.
        ///
        /// Source: WAMP, "Shared Registration".
        mutating func pick(using chance: inout SplitMix64, isFree: (WAMPID) -> Bool) -> WAMPID? {
            switch sharing {
            case .single, .first: return callees.first(where: isFree)
            case .last: return callees.last(where: isFree)
            case .roundRobin: return pick(from: turn, isFree: isFree)
            case .random:
                guard !callees.isEmpty else { return nil }
                return pick(from: Int.random(in: callees.indices, using: &chance), isFree: isFree)
            }
        }

        private mutating func pick(from start: Int, isFree: (WAMPID) -> Bool) -> WAMPID? {
            for step in 0..<callees.count {
                let place = (start + step) % callees.count
                guard isFree(callees[place]) else { continue }
                turn = place + 1
                return callees[place]
            }
            return nil
        }
    }

    /// What a session said when it offered a procedure.
    struct Offer: Hashable, Sendable {
        /// It wants to know who calls.
        let wantsCaller: Bool
        /// It keeps the timeouts of calls itself.
        let keepsTimeouts: Bool
        /// How many calls it takes at once, or nil.
        let capacity: Int?
        /// How many it has now.
        var load = 0

        var isFree: Bool { capacity.map { load < $0 } ?? true }
    }

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
