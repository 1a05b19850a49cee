import MachineCore

// "Presence": only a node itself writes its segment of a room. It sends the segment in full, or only the changes.
extension HubMachine {
    /// Updates presence after a state: shows a member that wants it, and sends it the members each time it reaches the head.
    mutating func attend(_ id: ConnectionID, in name: RoomName, isComplete: Bool, at now: Moment, into effects: inout [HubEffect]) {
        guard let member = rooms[name]?.members[id], let connection = connections[id] else { return }
        guard member.isPresent else {
            rooms[name]?.watchers.remove(id)
            return hide(member.ownedDevice, in: name, at: now, into: &effects)
        }
        if rooms[name]?.attendance.contains(member.ownedDevice) == false {
            let present = PresentMember(connection: connection.name, user: member.user, presence: Presence())
            rooms[name]?.attendance.show(member.ownedDevice, present, limit: policy.limits.members)
        }
        if isComplete, !connection.isCongested { oweSegments(of: name, to: id, at: now, into: &effects) }
        gather(name, at: now, into: &effects)
    }

    /// Sets a member's presence; changes that exceed the rate are dropped.
    mutating func set(_ presence: Presence, in name: RoomName, from id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        guard let member = member(id, in: name, with: .presence, into: &effects), member.isPresent else { return }
        guard presence.status.utf8.count <= RoomsLimits.typeLength, presence.meta?.count ?? 0 <= RoomsLimits.metaLength else {
            return say(Refusal(.size, room: name, "the status or its metadata is too long"), to: id, into: &effects)
        }
        let bytes = Self.frameSize(name, member.user) + Int64(presence.status.utf8.count + (presence.meta?.count ?? 0))
        guard admit(by: id, at: now) == 0, takesBytes(bytes, of: id, at: now), makesHeard(bytes, by: member.user, in: name, at: now) else {
            return counts.unsaid += 1
        }
        rooms[name]?.attendance.set(presence, of: member.ownedDevice, limit: policy.limits.members)
        gather(name, at: now, into: &effects)
    }

    /// Returns whether a user may cause a change that all watchers get, and takes it from the user's budget.
    private mutating func makesHeard(_ bytes: Int64, by user: UserName, in name: RoomName, at now: Moment) -> Bool {
        let (time, total) = (now.offset.wholeNanoseconds, bytes * Int64(rooms[name]?.watchers.count ?? 0))
        guard users[user]?.meter.deliveries.wait(for: total, policy.userDeliveries, at: time) == 0 else { return false }
        users[user]?.meter.deliveries.take(total, policy.userDeliveries, at: time)
        return true
    }

    /// Sends the present members on request; a request costs as much as a join, and requests that exceed the rate get no answer.
    ///
    /// The request is short and the answer is long, so ``oweSegments(of:to:at:into:)`` limits how often it is sent.
    mutating func notifyMembers(of name: RoomName, to id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        guard let member = member(id, in: name, with: .presence, into: &effects), member.isPresent else { return }
        guard connections[id]?.isCongested == false, admit(by: id, at: now) == 0 else { return }
        oweSegments(of: name, to: id, at: now, into: &effects)
    }

    mutating func hide(_ device: OwnedDevice, in name: RoomName, at now: Moment, into effects: inout [HubEffect]) {
        guard rooms[name]?.attendance.contains(device) == true else { return }
        rooms[name]?.attendance.hide(device, limit: policy.limits.members)
        devices[device]?.lingering.remove(name)
        gather(name, at: now, into: &effects)
    }

    /// Hides a lost device in the rooms to which it has not come back.
    mutating func endGrace(of device: OwnedDevice, at now: Moment, into effects: inout [HubEffect]) {
        guard let presentee = devices[device] else { return }
        devices[device]?.lingering = []
        if presentee.connection == nil { devices[device] = nil }
        for name in presentee.lingering.sorted() {
            if let id = presentee.connection, rooms[name]?.members[id]?.isPresent == true { continue }
            hide(device, in: name, at: now, into: &effects)
            watchIdle(name, at: now)
        }
    }

    // MARK: Sending

    /// Sends changes now if the last ones were sent long enough ago, and otherwise later.
    private mutating func gather(_ name: RoomName, at now: Moment, into effects: inout [HubEffect]) {
        guard rooms[name]?.attendance.hasNews == true, !alarms.isSet(.presence(name)) else { return }
        guard let told = rooms[name]?.attendance.told, told + policy.gatherPresence > now else {
            return notifyPresence(in: name, at: now, into: &effects)
        }
        alarms.set(.presence(name), at: told + policy.gatherPresence)
    }

    /// Sends changes now, or a little later if much is being sent; it does not wait if nobody watches the room.
    mutating func notifyPresence(in name: RoomName, at now: Moment, into effects: inout [HubEffect]) {
        guard rooms[name]?.attendance.hasNews == true else { return }
        if let told = rooms[name]?.attendance.told, told + policy.gatherAtMost > now, rooms[name]?.watchers.isEmpty == false {
            let time = now.offset.wholeNanoseconds
            let wait = max(
                rooms[name]?.deliveries.wait(for: 1, policy.roomDeliveries, at: time) ?? 0,
                deliveries.wait(for: 1, policy.deliveries, at: time))
            guard wait == 0 else {
                return alarms.set(.presence(name), at: min(now + .milliseconds(wait), told + policy.gatherAtMost))
            }
        }
        rooms[name]?.attendance.told = now
        let news = rooms[name]?.attendance.news(of: name, node: node, incarnation: incarnation, limit: policy.limits.members)
        if let news { effects.append(.notify(.segment(news))) }
        watchIdle(name, at: now)
    }

    // MARK: Receiving

    mutating func handle(_ segment: HubFrame.RoomMembers, at now: Moment, into effects: inout [HubEffect]) {
        let name = segment.room
        guard segment.node != node else {
            // The node's own heartbeat is nothing new, and its earlier incarnation is over.
            guard segment.incarnation == incarnation, let heard = rooms[name]?.attendance.heard, segment.version > heard else { return }
            rooms[name]?.attendance.heard = segment.version
            return watch(segment, at: now, into: &effects)
        }
        let isNew = nodes[segment.node] == nil
        guard !isNew || nodes.count < policy.nodes else { return }
        nodes[segment.node] = now
        if !alarms.isSet(.heartbeat) { alarms.set(.heartbeat, at: now + policy.heartbeat) }
        guard rooms[name] != nil else { return }
        // A node that has just joined knows nothing about this node.
        if isNew { notifyWhole(name, into: &effects) }
        guard var neighbour = rooms[name]?.neighbours[segment.node] else {
            guard segment.isFull else { return }
            rooms[name]?.neighbours[segment.node] = Room.Neighbour(segment: segment, heard: now)
            return watch(segment, at: now, into: &effects)
        }
        neighbour.heard = now
        let isNews = neighbour.segment.take(segment)
        rooms[name]?.neighbours[segment.node] = neighbour
        if isNews { watch(segment, at: now, into: &effects) }
    }

    /// Sends all segments and drops those of silent nodes; runs while there are other nodes.
    mutating func beat(at now: Moment, into effects: inout [HubEffect]) {
        for name in rooms.keys {
            notifyWhole(name, into: &effects)
            guard let neighbours = rooms[name]?.neighbours, !neighbours.isEmpty else { continue }
            for node in neighbours.keys.sorted() {
                guard var last = neighbours[node], last.heard + policy.nodeTimeout <= now else { continue }
                rooms[name]?.neighbours[node] = nil
                (last.segment.isFull, last.segment.total, last.segment.members, last.segment.gone) = (true, 0, [], [])
                last.segment.version &+= 1
                watch(last.segment, at: now, into: &effects)
            }
        }
        nodes = nodes.filter { $0.value + policy.nodeTimeout > now }
        if !nodes.isEmpty { alarms.set(.heartbeat, at: now + policy.heartbeat) }
    }

    private mutating func notifyWhole(_ name: RoomName, into effects: inout [HubEffect]) {
        guard let attendance = rooms[name]?.attendance, attendance.told != nil, !attendance.hasNews else { return }
        let segment = rooms[name]?.attendance.segment(
            of: name, node: node, incarnation: incarnation, version: attendance.version, limit: policy.limits.members)
        if let segment { effects.append(.notify(.segment(segment))) }
    }

    private mutating func watch(_ segment: HubFrame.RoomMembers, at now: Moment, into effects: inout [HubEffect]) {
        guard let watchers = rooms[segment.room]?.watchers, !watchers.isEmpty else { return }
        tookDeliveries(segment.size * Int64(watchers.count), in: segment.room, at: now)
        effects.append(.fanOut(.members(segment), to: watchers.ids))
    }
}

extension HubMachine {
    /// The members of a room at this node: its segment, which only this node writes.
    struct Attendance: Sendable {
        private var present: [OwnedDevice: PresentMember] = [:] { didSet { sorted = nil } }
        /// All members in the order in which they are sent; nil after a change, until it is needed again.
        private var sorted: [PresentMember]?
        /// The number of times that they were sorted.
        private(set) var sortings = 0
        /// The version of the last sent segment.
        private(set) var version: Int64
        /// The version that this node and its members have received.
        var heard: Int64
        private var changed: Set<OwnedDevice> = []
        private var gone: Set<String> = []
        /// Whether the next message must be a full segment: there are too many changes, or more members than are sent.
        ///
        /// The first message is full, too.
        private var mustBeFull = true
        /// Whether there are changes to send.
        private(set) var hasNews = false
        /// When a segment was last sent.
        var told: Moment?

        /// Creates the segment of a room that is opened.
        ///
        /// - Parameter version: The last version that this node may have sent for the room before; new versions are greater.
        init(after version: Int64) { (self.version, heard) = (version, version) }

        var isEmpty: Bool { present.isEmpty }
        var count: Int { present.count }
        /// All devices that are shown, in no order.
        var devices: [OwnedDevice] { Array(present.keys) }

        func contains(_ device: OwnedDevice) -> Bool { present[device] != nil }

        mutating func show(_ device: OwnedDevice, _ member: PresentMember, limit: Int64) {
            guard present[device] != member else { return }
            present[device] = member
            hasNews = true
            gone.remove(member.connection)
            if !mustBeFull { changed.insert(device) }
            bound(limit)
        }

        /// Sets the presence of a device that is shown.
        mutating func set(_ presence: Presence, of device: OwnedDevice, limit: Int64) {
            guard var member = present[device] else { return }
            member.presence = presence
            show(device, member, limit: limit)
        }

        mutating func hide(_ device: OwnedDevice, limit: Int64) {
            guard let member = present.removeValue(forKey: device) else { return }
            hasNews = true
            changed.remove(device)
            if !mustBeFull { gone.insert(member.connection) }
            bound(limit)
        }

        private mutating func bound(_ limit: Int64) {
            guard !mustBeFull, Int64(present.count) > limit || Int64(changed.count + gone.count) > limit else { return }
            (mustBeFull, changed, gone) = (true, [], [])
        }

        /// Returns the segment or the changes to send, under the next version.
        mutating func news(of room: RoomName, node: String, incarnation: UInt64, limit: Int64) -> HubFrame.RoomMembers {
            version += 1
            var news = segment(of: room, node: node, incarnation: incarnation, version: version, limit: limit)
            if !mustBeFull {
                news.isFull = false
                news.members = changed.compactMap { present[$0] }.sorted { $0.connection < $1.connection }
                news.gone = gone.sorted()
            }
            // While there are more members than are sent, each message contains only the count.
            (changed, gone, hasNews, mustBeFull) = ([], [], false, Int64(present.count) > limit)
            return news
        }

        /// Returns the full segment; above the limit, only the count.
        mutating func segment(
            of room: RoomName, node: String, incarnation: UInt64, version: Int64, limit: Int64
        ) -> HubFrame.RoomMembers {
            HubFrame.RoomMembers(
                room: room, node: node, incarnation: incarnation, version: version, isFull: true, total: Int64(present.count),
                members: Int64(present.count) > limit ? [] : inOrder(), gone: [])
        }

        private mutating func inOrder() -> [PresentMember] {
            if let sorted { return sorted }
            let all = present.values.sorted { $0.connection < $1.connection }
            (sorted, sortings) = (all, sortings + 1)
            return all
        }
    }

    /// A set of connections that is available as one array; insertion and removal take constant time.
    struct Roster: Sendable {
        private(set) var ids: [ConnectionID] = []
        private var places: [ConnectionID: Int] = [:]

        var isEmpty: Bool { ids.isEmpty }
        var count: Int { ids.count }

        func contains(_ id: ConnectionID) -> Bool { places[id] != nil }

        mutating func insert(_ id: ConnectionID) {
            guard places[id] == nil else { return }
            places[id] = ids.count
            ids.append(id)
        }

        mutating func remove(_ id: ConnectionID) {
            guard let place = places.removeValue(forKey: id) else { return }
            let last = ids.removeLast()
            guard place < ids.count else { return }
            ids[place] = last
            places[last] = place
        }

        mutating func removeAll() { (ids, places) = ([], [:]) }
    }
}

extension HubFrame.RoomMembers {
    /// The approximate size of the frame in bytes.
    var size: Int64 {
        let present = members.reduce(0) { size, member in
            size + 64 + member.user.text.utf8.count + member.presence.status.utf8.count + (member.presence.meta?.count ?? 0)
        }
        return Int64(128 + room.text.utf8.count + present + 24 * gone.count)
    }

    /// Applies a later report of the same node; returns false if a report is missing in between, or if it is not newer.
    mutating func take(_ news: HubFrame.RoomMembers) -> Bool {
        if news.isFull {
            guard news.incarnation != incarnation || news.version > version else { return false }
            self = news
            return true
        }
        guard news.incarnation == incarnation, news.version == version &+ 1 else { return false }
        let touched = Set(news.members.map(\.connection)).union(news.gone)
        members.removeAll { touched.contains($0.connection) }
        members += news.members
        members.sort { $0.connection < $1.connection }
        (version, total) = (news.version, news.total)
        return true
    }
}
