import MachineCore
import ProtocolCore

/// Presence, typing, signals and read markers.
extension RoomsMachine {
    /// Returns the place of a room that is joined on this connection.
    private func attached(_ room: RoomName) -> Int? { wanted(room).flatMap { clientRooms[$0].isAttached ? $0 : nil } }

    private var memberLimit: Int { Int(min(max(link.limits.members, 0), Int64(policy.members))) }

    mutating func appear(_ room: RoomName, _ presence: Presence, into effects: inout [RoomsEffect]) {
        guard let place = wanted(room), clientRooms[place].request.presence != presence else { return }
        clientRooms[place].request.presence = presence
        if link.isUp, clientRooms[place].isAttached, clientRooms[place].request.wantsPresence, clientRooms[place].rights.contains(.presence)
        {
            effects.append(.send(.presence(room, presence)))
        }
    }

    mutating func take(_ word: HubFrame.RoomMembers, at now: Moment, into effects: inout [RoomsEffect]) {
        // This also runs while the store is being read again: the hub does not know about that, and sends only changes.
        guard let place = wanted(word.room), clientRooms[place].request.wantsPresence else { return }
        switch clientRooms[place].membership.take(word, limit: memberLimit) {
        case .old: break
        case .changed:
            if word.isFull { clientRooms[place].membersAsked = nil }
            let (all, total) = (clientRooms[place].membership.members(limit: memberLimit), clientRooms[place].membership.total)
            effects.append(.news(.members(word.room, all, total: total)))
        case .gap:
            guard link.isUp, clientRooms[place].membersAsked.map({ $0 <= now }) ?? true else { return }
            clientRooms[place].membersAsked = now + policy.stateTimeout
            effects.append(.send(.members(word.room)))
        }
    }

    mutating func clearMembers(_ place: Int, into effects: inout [RoomsEffect]) {
        guard !clientRooms[place].membership.isEmpty else { return }
        clientRooms[place].membership = RoomMembership()
        effects.append(.news(.members(clientRooms[place].room, [], total: 0)))
    }

    // MARK: Typing and signals

    mutating func type(_ room: RoomName, _ types: Bool, at now: Moment, into effects: inout [RoomsEffect]) {
        guard link.isUp, let place = attached(room), clientRooms[place].rights.contains(.write),
            clientRooms[place].typing.shouldTell(types, at: now, policy: policy)
        else { return }
        effects.append(.send(.typing(room, types)))
    }

    mutating func heardTyping(
        _ room: RoomName, _ user: UserName, _ types: Bool, at now: Moment, into effects: inout [RoomsEffect]
    ) {
        guard let place = attached(room), user != link.user else { return }
        let until = now + policy.typingLife
        if clientRooms[place].typing.heard(user, types: types, until: until, limit: policy.typists) { notifyTyping(place, into: &effects) }
        if types { remind(at: until) }
    }

    mutating func notifyTyping(_ place: Int, into effects: inout [RoomsEffect]) {
        effects.append(.news(.typing(clientRooms[place].room, clientRooms[place].typing.users)))
    }

    /// Ends the typing state of users who have sent a message.
    mutating func endTyping(of items: [Entry], at place: Int, into effects: inout [RoomsEffect]) {
        guard !clientRooms[place].typing.isEmpty else { return }
        var changed = false
        for entry in items {
            if clientRooms[place].typing.heard(entry.user, types: false, until: .start, limit: 0) { changed = true }
        }
        if changed { notifyTyping(place, into: &effects) }
    }

    mutating func send(_ signal: Signal, to room: RoomName, into effects: inout [RoomsEffect]) {
        guard link.isUp, let place = attached(room), clientRooms[place].rights.contains(.write),
            signal.payload.bytes.count <= RoomsLimits.signalLength, (1...RoomsLimits.typeLength).contains(signal.type.utf8.count)
        else { return }
        effects.append(.send(.signal(room, signal)))
    }

    // MARK: Read markers

    mutating func read(_ room: RoomName, upTo seq: Int64, into effects: inout [RoomsEffect]) {
        guard let place = wanted(room), clientRooms[place].store == .ready else { return }
        let reached = min(seq, clientRooms[place].inbox.cursor.seq)
        guard reached > clientRooms[place].read else { return }
        clientRooms[place].read = reached
        order(pending(room), [.read(room, upTo: reached)], into: &effects)
        catchUpReading(place, into: &effects)
    }

    /// Reports how far the user has read, if the hub does not know it.
    mutating func catchUpReading(_ place: Int, into effects: inout [RoomsEffect]) {
        guard link.isUp, clientRooms[place].isAttached, clientRooms[place].rights.contains(.read), let user = link.user,
            clientRooms[place].epoch == clientRooms[place].inbox.cursor.epoch, clientRooms[place].read > clientRooms[place].reads[user] ?? 0
        else { return }
        clientRooms[place].reads[user] = clientRooms[place].read
        effects.append(.send(.read(clientRooms[place].room, upTo: clientRooms[place].read)))
    }

    mutating func heardRead(_ room: RoomName, _ markers: [HubFrame.ReadMarker], into effects: inout [RoomsEffect]) {
        guard let place = attached(room) else { return }
        for marker in markers where (1..<RoomsLimits.number).contains(marker.seq) {
            let known = clientRooms[place].reads[marker.user]
            guard marker.seq > known ?? 0, known != nil || clientRooms[place].reads.count < policy.readers || marker.user == link.user
            else {
                continue
            }
            clientRooms[place].reads[marker.user] = marker.seq
            notifyOnceWritten(.read(room, marker.user, upTo: marker.seq), of: place, into: &effects)
            // The user may read on another device, too.
            let reached = min(marker.seq, clientRooms[place].inbox.cursor.seq)
            guard marker.user == link.user, clientRooms[place].rights.contains(.read), reached > clientRooms[place].read else { continue }
            clientRooms[place].read = reached
            order(pending(room), [.read(room, upTo: reached)], into: &effects)
        }
    }
}

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

/// The users who are typing in a room, and the typing notices that this client has sent.
struct TypingTable: Hashable, Sendable {
    private struct TypingMember: Hashable, Sendable {
        var user: UserName
        var until: Moment
    }
    /// Sorted by name.
    private var others: [TypingMember] = []
    private var nextWord: Moment = .start
    private var toldUntil: Moment?

    /// The typing users, sorted by name.
    var users: [UserName] { others.map(\.user) }
    var isEmpty: Bool { others.isEmpty }
    /// When the next of them times out.
    var deadline: Moment? { others.map(\.until).min() }

    /// Records that a user types or has stopped; returns whether the list has changed.
    mutating func heard(_ user: UserName, types: Bool, until: Moment, limit: Int) -> Bool {
        let place = others.firstIndex { $0.user == user }
        switch (types, place) {
        case (true, let place?):
            others[place].until = until
            return false
        case (true, nil):
            guard others.count < limit else { return false }
            others.insert(TypingMember(user: user, until: until), at: others.firstIndex { user < $0.user } ?? others.count)
            return true
        case (false, let place?):
            others.remove(at: place)
            return true
        case (false, nil): return false
        }
    }

    /// Removes users whose typing has timed out; returns whether there were any.
    mutating func forget(at now: Moment) -> Bool {
        let count = others.count
        others.removeAll { $0.until <= now }
        return others.count != count
    }

    /// Removes everything, including this client's own state; returns whether other users were typing.
    mutating func clear() -> Bool {
        defer { self = TypingTable() }
        return !others.isEmpty
    }

    /// Returns whether to send a typing notice of the own user to the hub.
    mutating func shouldTell(_ types: Bool, at now: Moment, policy: RoomsPolicy) -> Bool {
        if types {
            guard now >= nextWord else { return false }
            nextWord = now + policy.typingInterval
            toldUntil = now + policy.typingLife
            return true
        }
        guard let until = toldUntil else { return false }
        (toldUntil, nextWord) = (nil, now)
        return now < until
    }

    /// Resets the own typing state after a message, because the message ends it for all readers.
    mutating func published(at now: Moment) { (toldUntil, nextWord) = (nil, now) }
}
