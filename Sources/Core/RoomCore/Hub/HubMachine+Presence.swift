import MachineCore

// "Presence": each node alone writes its segment of a room, and tells it whole or by what has changed.
extension HubMachine {
    /// After a state: a member who wants it is shown, and sees who is there, again whenever it has come to the head.
    mutating func attend(_ id: ConnectionID, in name: RoomName, isComplete: Bool, at now: Moment, into effects: inout [HubEffect]) {
        guard let member = rooms[name]?.members[id], let visit = visits[id] else { return }
        guard member.isPresent else {
            rooms[name]?.watchers.remove(id)
            return hide(member.ownedDevice, in: name, at: now, into: &effects)
        }
        if rooms[name]?.attendance.contains(member.ownedDevice) == false {
            let present = PresentMember(connection: visit.name, user: member.user, presence: Presence())
            rooms[name]?.attendance.show(member.ownedDevice, present, limit: policy.limits.members)
        }
        if isComplete, !visit.isCongested { oweSegments(of: name, to: id, at: now, into: &effects) }
        gather(name, at: now, into: &effects)
    }

    /// How a member wants to be seen; who changes that too often is not heard.
    mutating func set(_ presence: Presence, in name: RoomName, from id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        guard let member = member(id, in: name, with: .presence, into: &effects), member.isPresent else { return }
        guard presence.status.utf8.count <= RoomsLimits.typeLength, presence.meta?.count ?? 0 <= RoomsLimits.metaLength else {
            return say(Refusal(.size, room: name, "the status or what goes with it is too long"), to: id, into: &effects)
        }
        let bytes = Self.frameSize(name, member.user) + Int64(presence.status.utf8.count + (presence.meta?.count ?? 0))
        guard admit(by: id, at: now) == 0, takesBytes(bytes, of: id, at: now), makesHeard(bytes, by: member.user, in: name, at: now) else {
            return counts.unsaid += 1
        }
        rooms[name]?.attendance.set(presence, of: member.ownedDevice, limit: policy.limits.members)
        gather(name, at: now, into: &effects)
    }

    /// Whether a user may change what all who see it are told; takes that from what the user may make the hub tell.
    private mutating func makesHeard(_ bytes: Int64, by user: UserName, in name: RoomName, at now: Moment) -> Bool {
        let (time, total) = (now.offset.wholeNanoseconds, bytes * Int64(rooms[name]?.watchers.count ?? 0))
        guard users[user]?.meter.deliveries.wait(for: total, policy.userDeliveries, at: time) == 0 else { return false }
        users[user]?.meter.deliveries.take(total, policy.userDeliveries, at: time)
        return true
    }

    /// Who is present, for one who asks; it costs what a join costs, and who asks too often gets no answer.
    ///
    /// The frame that asks is short and the answer is long: it is told by ``oweSegments(of:to:at:into:)``, however often one asks.
    mutating func tellMembers(of name: RoomName, to id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        guard let member = member(id, in: name, with: .presence, into: &effects), member.isPresent else { return }
        guard visits[id]?.isCongested == false, admit(by: id, at: now) == 0 else { return }
        oweSegments(of: name, to: id, at: now, into: &effects)
    }

    mutating func hide(_ device: OwnedDevice, in name: RoomName, at now: Moment, into effects: inout [HubEffect]) {
        guard rooms[name]?.attendance.contains(device) == true else { return }
        rooms[name]?.attendance.hide(device, limit: policy.limits.members)
        devices[device]?.lingering.remove(name)
        gather(name, at: now, into: &effects)
    }

    /// A device that was lost has not come back to these rooms.
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

    // MARK: Telling

    /// Has changes told: now if the last telling is long enough ago, otherwise then.
    private mutating func gather(_ name: RoomName, at now: Moment, into effects: inout [HubEffect]) {
        guard rooms[name]?.attendance.hasNews == true, !alarms.isSet(.presence(name)) else { return }
        guard let told = rooms[name]?.attendance.told, told + policy.gatherPresence > now else {
            return tellPresence(in: name, at: now, into: &effects)
        }
        alarms.set(.presence(name), at: told + policy.gatherPresence)
    }

    /// Tells what has changed, now or, where much is told, a little later; where nobody is any more it does not wait.
    mutating func tellPresence(in name: RoomName, at now: Moment, into effects: inout [HubEffect]) {
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
        if let news { effects.append(.tell(.segment(news))) }
        watchIdle(name, at: now)
    }

    // MARK: Hearing

    mutating func hear(_ segment: HubFrame.RoomMembers, at now: Moment, into effects: inout [HubEffect]) {
        let name = segment.room
        guard segment.node != node else {
            // A heartbeat of one's own is nothing new, and one's earlier life is over.
            guard segment.incarnation == incarnation, let heard = rooms[name]?.attendance.heard, segment.version > heard else { return }
            rooms[name]?.attendance.heard = segment.version
            return watch(segment, at: now, into: &effects)
        }
        let isNew = nodes[segment.node] == nil
        guard !isNew || nodes.count < policy.nodes else { return }
        nodes[segment.node] = now
        if !alarms.isSet(.heartbeat) { alarms.set(.heartbeat, at: now + policy.heartbeat) }
        guard rooms[name] != nil else { return }
        // A node that has just come knows nothing of us.
        if isNew { tellWhole(name, into: &effects) }
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

    /// While there are other nodes: all segments are told, and those of silent nodes dropped.
    mutating func beat(at now: Moment, into effects: inout [HubEffect]) {
        for name in rooms.keys {
            tellWhole(name, into: &effects)
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

    private mutating func tellWhole(_ name: RoomName, into effects: inout [HubEffect]) {
        guard let attendance = rooms[name]?.attendance, attendance.told != nil, !attendance.hasNews else { return }
        let segment = rooms[name]?.attendance.segment(
            of: name, node: node, incarnation: incarnation, version: attendance.version, limit: policy.limits.members)
        if let segment { effects.append(.tell(.segment(segment))) }
    }

    private mutating func watch(_ segment: HubFrame.RoomMembers, at now: Moment, into effects: inout [HubEffect]) {
        guard let watchers = rooms[segment.room]?.watchers, !watchers.isEmpty else { return }
        tookDeliveries(segment.size * Int64(watchers.count), in: segment.room, at: now)
        effects.append(.fanOut(.members(segment), to: watchers.ids))
    }
}

extension HubMachine {
    /// Who is present in a room at this node: its segment, which nobody else writes.
    struct Attendance: Sendable {
        private var present: [OwnedDevice: PresentMember] = [:] { didSet { sorted = nil } }
        /// All of them in the order in which they are told, from the first question on until one changes.
        private var sorted: [PresentMember]?
        /// How often they were sorted.
        private(set) var sortings = 0
        /// Counts what was told.
        private(set) var version: Int64
        /// The version that this node itself has heard, as its members have.
        var heard: Int64
        private var changed: Set<OwnedDevice> = []
        private var gone: Set<String> = []
        /// Whether the next telling must hold everything: there are too many changes, or more members than are told.
        ///
        /// What is told first of all holds everything, too.
        private var mustBeFull = true
        /// Whether something is to be told.
        private(set) var hasNews = false
        /// When it was told last.
        var told: Moment?

        /// The segment of a room that is known from now on.
        ///
        /// - Parameter version: The last that this node may have told of the room when it was known before: what is told now is newer.
        init(after version: Int64) { (self.version, heard) = (version, version) }

        var isEmpty: Bool { present.isEmpty }
        var count: Int { present.count }
        /// All who are shown, in no order.
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

        /// How one that is present wants to be seen.
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

        /// What is to be told now, under the next version.
        mutating func news(of room: RoomName, node: String, incarnation: UInt64, limit: Int64) -> HubFrame.RoomMembers {
            version += 1
            var news = segment(of: room, node: node, incarnation: incarnation, version: version, limit: limit)
            if !mustBeFull {
                news.isFull = false
                news.members = changed.compactMap { present[$0] }.sorted { $0.connection < $1.connection }
                news.gone = gone.sorted()
            }
            // While there are more than are told, each telling is of the count only.
            (changed, gone, hasNews, mustBeFull) = ([], [], false, Int64(present.count) > limit)
            return news
        }

        /// All that is present: beyond the limit only how many.
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

    /// Connections as one array that is handed over as it is; adding and removing takes no time that grows with it.
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
    /// About how many bytes its frame has.
    var size: Int64 {
        let present = members.reduce(0) { size, member in
            size + 64 + member.user.text.utf8.count + member.presence.status.utf8.count + (member.presence.meta?.count ?? 0)
        }
        return Int64(128 + room.text.utf8.count + present + 24 * gone.count)
    }

    /// Takes in what a node has told after this; false if something is missing between, or it is nothing new.
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
