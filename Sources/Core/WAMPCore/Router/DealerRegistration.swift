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
}
