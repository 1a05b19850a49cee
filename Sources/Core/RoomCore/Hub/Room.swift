import MachineCore

extension HubMachine {
    /// A room that is open, or is being opened.
    struct Room: Sendable {
        enum Phase: Equatable, Sendable {
            /// The log was asked for it.
            case opening
            case open
            /// It could not be opened or written, and will be opened again.
            case closed
        }
        /// What a node other than this one has told.
        struct Neighbour: Sendable {
            var segment: HubFrame.RoomMembers
            var heard: Moment
        }
        var phase = Phase.opening
        /// Counts its openings.
        var generation: Int64 = 0
        /// Whether it could not be opened or written last time.
        var isDown = false
        /// How often in a row it could not be opened or written.
        var failures = 0
        var sequencer = Sequencer()
        /// The first number that is retained.
        private(set) var base: Int64 = 1
        /// What the entry below that was; nil: there was none, or that is not known.
        private(set) var below: EntryStamp?
        var tail = Tail()
        /// What the last entry was, even if retention has taken it away; nil: there was none, or that is not known.
        private(set) var lastStamp: EntryStamp?
        /// Whether the log is known to have gone back: nothing is taken until it has a new epoch on disk.
        var isRewound = false
        /// The time that was given last, in milliseconds since 1970 UTC.
        var lastTime: Int64 = 0
        var pace = Pace()
        var reads: [UserName: Int64] = [:]
        /// The read markers by user, until one changes.
        private var sortedReads: [HubFrame.ReadMarker]?
        var members: [ConnectionID: Member] = [:]
        var authors: [DeviceID: Author] = [:]
        /// The server's publications that wait for the room to open.
        var requests: [(request: ServerRequest, device: DeviceID, user: UserName, publication: Publication)] = []
        /// Those who get entries.
        var live = Roster()
        /// Those who get typing, signals and read markers: all readers who are not congested.
        var hearers = Roster()
        /// Those who see who is present, and are not congested.
        var watchers = Roster()
        /// Those who are owed all who are present, in the order in which they came.
        var askers = Roster()
        /// When somebody was told that last.
        var toldSegments: Moment?
        var ephemerals = Bucket()
        /// Bytes of what nobody stores, each as often as it is told.
        var deliveries = Bucket()
        /// About how many bytes of entries are stored, with those that are on their way.
        var bytes: Int64 = 0
        var attendance: Attendance
        var neighbours: [String: Neighbour] = [:]

        /// - Parameter version: The last version of presence that may have been told of it before.
        init(presenceAfter version: Int64) { attendance = Attendance(after: version) }

        var head: Int64 { sequencer.head }
        var epoch: UInt64 { sequencer.epoch }

        /// Whether nobody is in it and nothing is under way; some may still be shown as present.
        var isDeserted: Bool {
            // One that was let go before it has its new epoch would be written in its old one by whoever comes next.
            members.isEmpty && sequencer.isIdle && requests.isEmpty && authors.isEmpty && phase != .opening && !isRewound
        }

        /// Whether nothing needs it: it may be let go.
        var isIdle: Bool { isDeserted && attendance.isEmpty && !attendance.hasNews }

        // MARK: Opening

        /// Begins with a log; whether it is another than the one that was known, or longer, so that all must join again.
        mutating func open(_ log: LogHead) -> Bool {
            let isOther = generation > 0 && (log.epoch != epoch || log.head != head)
            if isOther {
                tail.removeAll()
                live.removeAll()
                for id in Array(members.keys) {
                    members[id]?.hasState = false
                    if members[id]?.phase == .live { members[id]?.phase = .behind }
                }
                for device in Array(authors.keys) { authors[device]?.knowledge = .unknown }
            }
            sequencer.begin(epoch: log.epoch, head: log.head)
            (base, bytes) = (log.base, log.bytes)
            (lastTime, lastStamp, below, isRewound) = (log.last, log.lastStamp, log.below, false)
            reads = [:]
            for marker in log.reads { reads[marker.user] = marker.seq }
            sortedReads = nil
            generation += 1
            (phase, isDown) = (.open, false)
            return isOther
        }

        /// Retention has taken entries away, if this is more than was known.
        ///
        /// - Parameter below: What the last of them was, if that is known.
        mutating func raiseBase(to first: Int64, below stamp: EntryStamp?) {
            if first > base { (base, below) = (first, stamp) }
        }

        /// What the entry at a number was, as far as memory has it.
        func stamp(of seq: Int64) -> EntryStamp? {
            if seq == head { return lastStamp }
            return tail.stamp(of: seq) ?? (seq == base - 1 ? below : nil)
        }

        // MARK: Joins

        /// What answers a join.
        enum Answer: Sendable {
            /// These entries, from memory or because none are needed.
            case items([Entry], isSnapshot: Bool)
            case fetchAfter(Int64, limit: Int64)
            case fetchLast(Int64)

            /// Whether the log is read for it.
            var isRead: Bool {
                switch self {
                case .fetchAfter, .fetchLast: true
                case .items: false
                }
            }
        }

        /// The table of "Joining and resuming".
        ///
        /// - Parameter isUnread: Whether the entry at the cursor is to be read, too.
        func answer(to join: ClientFrame.Join, rights: RoomRights, page: Int64, bytes: Int64, isUnread: Bool = false) -> Answer {
            let cursor = join.cursor
            // A cursor beyond the head, without a proof, may be a lie: who has it gets what there is, and nobody else is disturbed.
            let isSame = cursor.epoch == epoch && cursor.seq <= head
            guard rights.contains(.read) else { return .items([], isSnapshot: !isSame || cursor.seq != head) }
            let limit = join.limit > 0 ? join.limit : .max
            let isNear = isSame && cursor.seq >= base - 1 && head - cursor.seq <= limit
            if isUnread { return .fetchAfter(cursor.seq - 1, limit: isNear ? min(page, head - cursor.seq) + 1 : 1) }
            if isNear {
                if cursor.seq == head { return .items([], isSnapshot: false) }
                if let items = tail.after(cursor.seq, limit: page, bytes: bytes) { return .items(items, isSnapshot: false) }
                return .fetchAfter(cursor.seq, limit: min(page, head - cursor.seq))
            }
            // A negative number of no epoch asks for so many of the last.
            let wanted = cursor.epoch == 0 && cursor.seq < 0 ? Int64(clamping: cursor.seq.magnitude) : .max
            let count = min(wanted, limit, page, head - base + 1)
            if count <= 0 { return .items([], isSnapshot: true) }
            if let items = tail.after(head - count, limit: count, bytes: .max), items.size <= bytes {
                return .items(items, isSnapshot: true)
            }
            return .fetchLast(count)
        }

        /// What came from the log for a join, which was asked for no more than is known to be on disk, and what has been appended since.
        func complete(_ fetched: [Entry], limit: Int64, bytes: Int64) -> [Entry] {
            guard let last = fetched.last, last.seq < head, Int64(fetched.count) < limit, fetched.size < bytes else { return fetched }
            var items = fetched
            if let more = tail.after(last.seq, limit: limit - Int64(items.count), bytes: bytes - items.size) { items += more }
            return items
        }

        /// A state for a member, who is live from now on if it reaches the head.
        mutating func state(
            of room: RoomName, for id: ConnectionID, items: [Entry], isSnapshot: Bool, isCongested: Bool, reads most: Int64, key: ProofKey?
        ) -> HubFrame.RoomState? {
            guard let member = members[id], let author = authors[member.device] else { return nil }
            let to = items.last?.seq ?? head
            let hasMore = to < head
            members[id]?.hasState = true
            // A congested one loses its place at once; with more to come it joins again by itself.
            members[id]?.isLagged = isCongested && !hasMore
            members[id]?.phase = hasMore || isCongested ? .behind : .live
            if member.rights.contains(.read), !isCongested {
                if !hasMore { live.insert(id) }
                hearers.insert(id)
            }
            var proof: CursorProof?
            if member.rights.contains(.read), let key, let last = items.last.map(EntryStamp.init) ?? (hasMore ? nil : lastStamp) {
                proof = key.proof(of: last, at: LogPosition(epoch: epoch, seq: to), in: room)
            }
            return HubFrame.RoomState(
                room: room, epoch: epoch, from: items.first?.seq ?? head + 1, to: to, head: head, base: base, items: items,
                isSnapshot: isSnapshot, hasMore: hasMore, high: author.high, highID: author.highID, rights: member.rights,
                reads: markers(for: member, most: most), proof: proof)
        }

        /// The read markers, if they are not too many; then only the member's own.
        private mutating func markers(for member: Member, most: Int64) -> [HubFrame.ReadMarker] {
            guard member.rights.contains(.read) else { return [] }
            guard Int64(reads.count) <= most else {
                return reads[member.user].map { [HubFrame.ReadMarker(user: member.user, seq: $0)] } ?? []
            }
            if let sortedReads { return sortedReads }
            let sorted = reads.map { HubFrame.ReadMarker(user: $0.key, seq: $0.value) }.sorted { $0.user < $1.user }
            sortedReads = sorted
            return sorted
        }

        /// Takes a read marker; whether it is further than before.
        mutating func mark(_ user: UserName, upTo seq: Int64) -> Bool {
            guard seq > reads[user] ?? 0 else { return false }
            reads[user] = seq
            sortedReads = nil
            return true
        }

        /// Takes a member out of what is told to many.
        mutating func mute(_ id: ConnectionID) {
            live.remove(id)
            hearers.remove(id)
            watchers.remove(id)
            askers.remove(id)
        }

        // MARK: Publications

        /// All that the room knows for the judgement of a publication, looked at once.
        struct Standing: Sendable {
            var rights: RoomRights
            var hasState: Bool
            var isOpen: Bool
            var isMarkKnown = false
            /// What its number means; nil while that cannot be told.
            var place: Place?
            /// How many of its device, with it, would not be acked.
            var unacked: Int64 = 0
            /// Whether its device has published here, or is about to.
            var hasMark = false
            /// How many records wait for the log, and how many bytes.
            var pending = 0
            var pendingBytes: Int64 = 0
        }

        /// What a publication of a member meets; nil: it is no member.
        mutating func assess(
            _ cseq: Int64, of device: DeviceID, from id: ConnectionID, at now: Moment, patience: Duration
        ) -> Standing? {
            guard let member = members[id] else { return nil }
            var standing = Standing(rights: member.rights, hasState: member.hasState, isOpen: phase == .open && !isRewound)
            guard standing.hasState, standing.isOpen, authors[device]?.knowledge == .known else { return standing }
            standing.isMarkKnown = true
            standing.place = authors[device]?.place(of: cseq, at: now, patience: patience)
            standing.unacked = cseq - (authors[device]?.high ?? 0)
            standing.hasMark = authors[device]?.taken ?? 0 > 0
            (standing.pending, standing.pendingBytes) = (sequencer.count, sequencer.bytes)
            return standing
        }

        /// Takes the next publication of a device; the append that carries it, unless it waits for the one under way.
        mutating func take(
            _ publication: Publication, of device: DeviceID, by user: UserName, isAdmin: Bool, at time: Int64, from id: ConnectionID?,
            into room: RoomName, batch: Int64
        ) -> LogOrder? {
            authors[device]?.taken = publication.cseq
            lastTime = time
            if publication.content != nil { bytes += publication.storedSize }
            sequencer.take(publication, of: device, by: user, isAdmin: isAdmin, at: time, from: id)
            return sequencer.nextAppend(to: room, batch: batch)
        }

        /// What has become of an append that is on disk.
        struct Settled: Sendable {
            var acks: [(connection: ConnectionID, acks: [HubFrame.Ack])] = []
            var answers: [(request: ServerRequest, ack: HubFrame.Ack)] = []
            var entries: [Entry] = []
            /// Who published, but for the server itself.
            var connections: [ConnectionID] = []
            /// Devices that the room has forgotten.
            var retired: [DeviceID] = []
            /// Who waits for a state until this is on disk.
            var newcomers: [ConnectionID] = []
            var epoch: UInt64
            /// To whom the entries go.
            var live: [ConnectionID]
            /// By how many bytes there is more of the room in memory.
            var tailGrowth: Int64 = 0
            /// The next append, if something has gathered for it.
            var next: LogOrder?
            /// Whether the room may be let go.
            var isIdle = false
        }

        /// An append is on disk: marks rise, the head moves, and what has gathered follows; nil if another one is under way.
        mutating func settle(_ batch: Int64, of room: RoomName, next number: Int64, at now: Moment, policy: HubPolicy) -> Settled? {
            guard let done = sequencer.appended(batch: batch) else { return nil }
            failures = 0
            var settled = Settled(epoch: epoch, live: live.ids)
            var places: [DeviceID: Int] = [:]
            settled.entries.reserveCapacity(done.count)
            for pending in done {
                let device = pending.device
                if let connection = pending.connection { settled.connections.append(connection) }
                if case .entry(let entry) = pending.record { settled.entries.append(entry) }
                guard var author = authors.removeValue(forKey: device) else { continue }
                (author.high, author.highID, author.highAck) = (pending.ack.cseq, pending.ack.id, pending.ack)
                if author.high == author.fence, let newcomer = author.connection { settled.newcomers.append(newcomer) }
                if let connection = author.connection, members[connection]?.hasState == true {
                    if let place = places[device] {
                        settled.acks[place].acks.append(pending.ack)
                    } else {
                        places[device] = settled.acks.count
                        settled.acks.append((connection, [pending.ack]))
                    }
                }
                if !author.pending.isEmpty {
                    settled.answers += author.pending.filter { $0.cseq == pending.ack.cseq }.map { ($0.request, pending.ack) }
                    author.pending.removeAll { $0.cseq <= pending.ack.cseq }
                }
                if author.isIdle { settled.retired.append(device) } else { authors[device] = author }
            }
            pace.add(settled.entries.count, at: now)
            if !settled.entries.isEmpty {
                settled.tailGrowth -= tail.bytes
                tail.append(settled.entries, after: lastStamp, entries: policy.tailEntries, bytes: policy.tailBytes)
                settled.tailGrowth += tail.bytes
                lastStamp = settled.entries.last.map(EntryStamp.init)
            }
            settled.next = sequencer.nextAppend(to: room, batch: number)
            settled.isIdle = isIdle
            return settled
        }
    }
}

extension [Entry] {
    /// About how many bytes they take in frames.
    var size: Int64 { reduce(0) { $0 + $1.size } }
}
