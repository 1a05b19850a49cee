/// The present members of a room, merged from the reports of all nodes of the hub.
struct RoomMembership: Hashable, Sendable {
    private struct Segment: Hashable, Sendable {
        var node: String
        var incarnation: UInt64
        var version: Int64
        var total: Int64
        /// By connection.
        var members: [String: PresentMember]
    }
    /// The effect of a node's report.
    enum Outcome: Hashable, Sendable {
        /// None.
        case old
        /// Members came, changed or left.
        case changed
        /// A report was missed: the client must request the full list.
        case gap
    }
    /// The maximum number of nodes; reports of further nodes are ignored.
    private static let nodes = 64

    private var segments: [Segment] = []

    /// Takes a node's report, up to this number of members.
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

    /// Returns the present members sorted by user and connection, up to this number.
    func members(limit: Int) -> [PresentMember] {
        let all = segments.flatMap { $0.members.values }
        return Array(all.sorted { ($0.user, $0.connection) < ($1.user, $1.connection) }.prefix(limit))
    }

    /// The number of present connections.
    var total: Int64 { segments.reduce(0) { min($0 + max($1.total, Int64($1.members.count)), RoomsLimits.number) } }

    var isEmpty: Bool { segments.isEmpty }
}
