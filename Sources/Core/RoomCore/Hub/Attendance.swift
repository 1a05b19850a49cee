import MachineCore

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
