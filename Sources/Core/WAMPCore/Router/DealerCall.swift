import CodecCore
import MachineCore

extension Dealer {
    /// A registered procedure or pattern, and its callees.
    struct Registration: Hashable, Sendable {
        let id: WAMPID
        let uri: String
        let match: WAMPMatch
        let sharing: RegisterOptions.Sharing
        let created: Moment
        /// The sessions of the callees, in the order of their registration.
        private(set) var callees: [WAMPID] = []
        /// Whether some callees limit the number of concurrent calls.
        private(set) var isBounded = false
        /// The index of the next callee for round-robin.
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

        /// Returns the next callee among those that are free.
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

    /// The options of a callee for a registration.
    struct Offer: Hashable, Sendable {
        /// Whether the callee wants to know the caller.
        let wantsCaller: Bool
        /// Whether the callee enforces the timeouts of calls itself.
        let keepsTimeouts: Bool
        /// The maximum number of concurrent calls; nil: no limit.
        let capacity: Int?
        /// The current number of calls.
        var load = 0

        var isFree: Bool { capacity.map { load < $0 } ?? true }
    }

    /// The identification of a call: its caller's session and request.
    struct CallKey: Hashable, Sendable, Comparable {
        let caller: WAMPID
        let request: WAMPID

        static func < (one: CallKey, other: CallKey) -> Bool { (one.caller, one.request) < (other.caller, other.request) }
    }

    /// The identification of an invocation: its callee's session and request, and its registration.
    struct Invocation: Hashable, Sendable {
        let callee: WAMPID
        let request: WAMPID
        let registration: WAMPID
    }

    /// A pending call.
    struct Call: Hashable, Sendable {
        let procedure: String
        /// The invocation of the callee.
        var invocation: Invocation
        /// The invocations for further parts; see ``RouterPolicy/Quirks/invokesEachPart``.
        var others: [Invocation] = []
        /// The details of each INVOCATION, without `progress`; the options of further parts are ignored.
        ///
        /// Source: WAMP, "Freezing of Options in Progressive Call Invocations".
        let details: ValueMap
        /// Whether more input follows.
        var isOpen: Bool
        /// Whether the call's input comes in parts.
        let comesInParts: Bool
        /// Whether the caller wants partial results.
        let wantsProgress: Bool
        /// The time limit for the first result, and between results; nil: no limit, or the callee enforces it.
        let timeout: Duration?
        /// Whether the callee was interrupted and the caller waits for its answer.
        var isInterrupted = false
        /// The bytes that count for the caller; see ``Dealer/freeCalls``.
        var bytes = 0
    }

    /// The state of a session in the dealer.
    struct Member: Hashable, Sendable {
        let participant: Participant
        /// By registration.
        var offers: [WAMPID: Offer] = [:]
        /// The bytes of the registrations.
        var offerBytes = 0
        /// By the caller's request.
        var calls: [WAMPID: Call] = [:]
        /// The bytes of the counted calls.
        var callBytes = 0
        /// By the request of the INVOCATION.
        var invocations: [WAMPID: CallKey] = [:]
        var lastInvocation: WAMPID = 0
        /// Calls that ended before their last part came; further parts of them are not violations.
        private(set) var abandoned: Set<WAMPID> = []
        /// Whether there were more of them than are remembered.
        private(set) var hasForgotten = false

        init(_ participant: Participant) { self.participant = participant }

        // These members change nothing. They are mutating so that a `Member` is read in place and not copied.

        /// The number of pending calls.
        var waiting: Int { mutating get { calls.count } }

        /// Returns a pending call, and the number of pending calls.
        mutating func standing(of request: WAMPID) -> (call: Call?, count: Int) { (calls[request], calls.count) }

        /// Returns the session's options for a registration, and its abilities.
        mutating func offer(_ registration: WAMPID) -> (offer: Offer, abilities: PeerAbilities)? {
            offers[registration].map { ($0, participant.abilities) }
        }

        /// Returns the call of an invocation.
        mutating func call(of request: WAMPID) -> CallKey? { invocations[request] }

        /// Returns the session's connection and one of its calls.
        mutating func caller(of request: WAMPID) -> (connection: RouterConnection, call: Call)? {
            calls[request].map { (participant.connection, $0) }
        }

        /// Records an invocation of this session, under the given number or the next one.
        mutating func take(
            _ key: CallKey, through registration: WAMPID, as number: WAMPID?
        ) -> (request: WAMPID, connection: RouterConnection) {
            lastInvocation = number ?? lastInvocation + 1
            invocations[lastInvocation] = key
            if offers[registration]?.capacity != nil { offers[registration]?.load += 1 }
            return (lastInvocation, participant.connection)
        }

        /// Removes an invocation that has ended.
        mutating func release(_ request: WAMPID, through registration: WAMPID) {
            guard invocations.removeValue(forKey: request) != nil, offers[registration]?.capacity != nil else { return }
            offers[registration]?.load -= 1
        }

        /// The maximum number of remembered calls that ended before their last part came.
        static let mostAbandoned = 256

        mutating func abandon(_ request: WAMPID, limit: Int) {
            guard abandoned.count < min(limit, Self.mostAbandoned) else { return hasForgotten = true }
            abandoned.insert(request)
        }

        /// Returns whether a part may belong to a call that has ended.
        mutating func expects(_ request: WAMPID, isLast: Bool) -> Bool {
            (isLast ? abandoned.remove(request) != nil : abandoned.contains(request)) || hasForgotten
        }
    }
}
