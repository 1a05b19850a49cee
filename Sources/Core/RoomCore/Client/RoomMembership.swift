/// Who is present in a room, merged out of what each node of the hub says.
struct RoomMembership: Hashable, Sendable {
    private struct Segment: Hashable, Sendable {
        var node: String
        var incarnation: UInt64
        var version: Int64
        var total: Int64
        /// By connection.
        var members: [String: PresentMember]
    }
    /// What a word of a node did.
    enum Outcome: Hashable, Sendable {
        /// Nothing.
        case old
        /// Somebody came, changed or went.
        case changed
        /// Something was missed: everything must be asked for.
        case gap
    }
    /// Nodes beyond these are not listened to.
    private static let nodes = 64

    private var segments: [Segment] = []

    /// Takes what a node says; no more members than this.
    mutating func take(_ word: HubFrame.RoomMembers, limit: Int) -> Outcome {
        let place = segments.firstIndex { $0.node == word.node }
        let total = min(max(word.total, 0), RoomsLimits.number)
        if word.isFull {
            if let place, segments[place].incarnation == word.incarnation, word.version < segments[place].version { return .old }
            guard place != nil || segments.count < Self.nodes else { return .old }
            var segment = Segment(node: word.node, incarnation: word.incarnation, version: word.version, total: total, members: [:])
            for member in word.members.prefix(limit) { segment.members[member.connection] = member }
            if let place { segments[place] = segment } else { segments.append(segment) }
            return .changed
        }
        guard let place, segments[place].incarnation == word.incarnation else { return .gap }
        guard word.version > segments[place].version else { return .old }
        guard word.version - 1 == segments[place].version else { return .gap }
        (segments[place].version, segments[place].total) = (word.version, total)
        for connection in word.gone { segments[place].members[connection] = nil }
        for member in word.members where segments[place].members.count < limit || segments[place].members[member.connection] != nil {
            segments[place].members[member.connection] = member
        }
        return .changed
    }

    /// All who are present, by user and connection; no more than this.
    func members(limit: Int) -> [PresentMember] {
        let all = segments.flatMap { $0.members.values }
        return Array(all.sorted { ($0.user, $0.connection) < ($1.user, $1.connection) }.prefix(limit))
    }

    /// How many are present.
    var total: Int64 { segments.reduce(0) { min($0 + max($1.total, Int64($1.members.count)), RoomsLimits.number) } }

    var isEmpty: Bool { segments.isEmpty }
}
