import MachineCore

extension HubMachine {
    /// A room that is open or being opened.
    struct Room: Sendable {
        enum Phase: Equatable, Sendable {
            /// The log has been asked to open it.
            case opening
            case open
            /// It could not be opened or written, and will be opened again.
            case closed
        }
        /// The members at another node, as it last reported them.
        struct Neighbour: Sendable {
            var segment: HubFrame.RoomMembers
            var heard: Moment
        }
        var phase = Phase.opening
        /// The number of times that it was opened.
        var generation: Int64 = 0
        /// Whether the last attempt to open or write it failed.
        var isDown = false
        /// The number of such failures in a row.
        var failures = 0
        var sequencer = Sequencer()
        /// The first number that is retained.
        private(set) var base: Int64 = 1
        /// The stamp of the entry below `base`; nil if there was none, or it is not known.
        private(set) var below: EntryStamp?
        var tail = Tail()
        /// The stamp of the last entry, even if retention has deleted it; nil if there was none, or it is not known.
        private(set) var lastStamp: EntryStamp?
        /// Whether the log is known to have gone back: nothing is accepted until a new epoch is on disk.
        var isRewound = false
        /// The last assigned time, in milliseconds since 1970 UTC.
        var lastTime: Int64 = 0
        var pace = Pace()
        var reads: [UserName: Int64] = [:]
        /// The read markers sorted by user; nil after a change, until they are needed again.
        private var sortedReads: [HubFrame.ReadMarker]?
        var members: [ConnectionID: Member] = [:]
        var authors: [DeviceID: Author] = [:]
        /// The publications of the server that wait for the room to open.
        var requests: [(request: ServerRequest, device: DeviceID, user: UserName, publication: Publication)] = []
        /// The connections that get entries.
        var live = Roster()
        /// The connections that get typing notices, signals and read markers: all readers that are not congested.
        var hearers = Roster()
        /// The connections that get the members and are not congested.
        var watchers = Roster()
        /// The connections that wait for the full member list, in the order of their requests.
        var askers = Roster()
        /// When the full list was last sent.
        var toldSegments: Moment?
        var ephemerals = Bucket()
        /// The bytes of ephemeral frames, counted once per receiver.
        var deliveries = Bucket()
        /// The approximate number of bytes of entries, stored and pending.
        var bytes: Int64 = 0
        var attendance: Attendance
        var neighbours: [String: Neighbour] = [:]

        /// - Parameter version: The last presence version that may have been sent for the room before.
        init(presenceAfter version: Int64) { attendance = Attendance(after: version) }

        var head: Int64 { sequencer.head }
        var epoch: UInt64 { sequencer.epoch }

        /// Whether the room is empty and has no pending work; lost devices may still be shown as present.
        var isDeserted: Bool {
            // A room that is released before its new epoch is on disk would later be written in its old epoch.
            members.isEmpty && sequencer.isIdle && requests.isEmpty && authors.isEmpty && phase != .opening && !isRewound
        }

        /// Whether nothing needs the room, so that it may be released.
        var isIdle: Bool { isDeserted && attendance.isEmpty && !attendance.hasNews }

        // MARK: Opening

        /// Takes the state of an opened log; returns whether it differs from the known log, so that all members must join again.
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

        /// Raises the first retained number, if it is greater than the known one.
        ///
        /// - Parameter below: The stamp of the last deleted entry, if it is known.
        mutating func raiseBase(to first: Int64, below stamp: EntryStamp?) {
            if first > base { (base, below) = (first, stamp) }
        }

        /// Returns the stamp of the entry at a number, if it is in memory.
        func stamp(of seq: Int64) -> EntryStamp? {
            if seq == head { return lastStamp }
            return tail.stamp(of: seq) ?? (seq == base - 1 ? below : nil)
        }

        // MARK: Joins

        /// The answer to a join.
        enum Answer: Sendable {
            /// Entries from memory, or none.
            case items([Entry], isSnapshot: Bool)
            case fetchAfter(Int64, limit: Int64)
            case fetchLast(Int64)

            /// Whether the answer needs a read of the log.
            var isRead: Bool {
                switch self {
                case .fetchAfter, .fetchLast: true
                case .items: false
                }
            }
        }

        /// Returns the answer according to the table of "Joining and resuming".
        ///
        /// - Parameter isUnread: Whether the entry at the cursor must be read, too.
        func answer(to join: ClientFrame.Join, rights: RoomRights, page: Int64, bytes: Int64, isUnread: Bool = false) -> Answer {
            let cursor = join.cursor
            // A cursor beyond the head without a proof may be forged. Its client gets the existing entries, and other clients are not
            // affected.
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
            // A negative number without an epoch requests that many of the last entries.
            let wanted = cursor.epoch == 0 && cursor.seq < 0 ? Int64(clamping: cursor.seq.magnitude) : .max
            let count = min(wanted, limit, page, head - base + 1)
            if count <= 0 { return .items([], isSnapshot: true) }
            if let items = tail.after(head - count, limit: count, bytes: .max), items.size <= bytes {
                return .items(items, isSnapshot: true)
            }
            return .fetchLast(count)
        }

        /// Completes the entries that the log returned for a join with the entries that were appended since.
        func complete(_ fetched: [Entry], limit: Int64, bytes: Int64) -> [Entry] {
            guard let last = fetched.last, last.seq < head, Int64(fetched.count) < limit, fetched.size < bytes else { return fetched }
            var items = fetched
            if let more = tail.after(last.seq, limit: limit - Int64(items.count), bytes: bytes - items.size) { items += more }
            return items
        }

        /// Returns a state for a member; the member is live from now on if the state reaches the head.
        mutating func state(
            of room: RoomName, for id: ConnectionID, items: [Entry], isSnapshot: Bool, isCongested: Bool, reads most: Int64, key: ProofKey?
        ) -> HubFrame.RoomState? {
            guard let member = members[id], let author = authors[member.device] else { return nil }
            let to = items.last?.seq ?? head
            let hasMore = to < head
            members[id]?.hasState = true
            // A congested member falls behind at once. If there are more entries, it joins again by itself.
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

        /// Returns the read markers; if there are too many, only the member's own.
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

        /// Sets a read marker; returns whether it advanced.
        mutating func mark(_ user: UserName, upTo seq: Int64) -> Bool {
            guard seq > reads[user] ?? 0 else { return false }
            reads[user] = seq
            sortedReads = nil
            return true
        }

        /// Removes a connection from all lists of receivers.
        mutating func mute(_ id: ConnectionID) {
            live.remove(id)
            hearers.remove(id)
            watchers.remove(id)
            askers.remove(id)
        }

        // MARK: Publications

        /// The facts about a room that are needed to decide on a publication.
        struct Standing: Sendable {
            var rights: RoomRights
            var hasState: Bool
            var isOpen: Bool
            var isMarkKnown = false
            /// The place of its number; nil while it cannot be determined.
            var place: Place?
            /// The number of publications of the device without an ack, including this one.
            var unacked: Int64 = 0
            /// Whether the device has published in the room, or has a pending publication.
            var hasMark = false
            /// The number and bytes of records that wait for the log.
            var pending = 0
            var pendingBytes: Int64 = 0
        }

        /// Returns the facts for a member's publication; nil if the connection is not a member.
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

        /// Takes the next publication of a device; returns the append that contains it, unless another append is running.
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

        /// The results of an append that is on disk.
        struct Settled: Sendable {
            var acks: [(connection: ConnectionID, acks: [HubFrame.Ack])] = []
            var answers: [(request: ServerRequest, ack: HubFrame.Ack)] = []
            var entries: [Entry] = []
            /// The connections that published, without the server itself.
            var connections: [ConnectionID] = []
            /// The devices that the room has removed.
            var retired: [DeviceID] = []
            /// The members whose state waited for this append.
            var newcomers: [ConnectionID] = []
            var epoch: UInt64
            /// The receivers of the entries.
            var live: [ConnectionID]
            /// The growth of the entries in memory, in bytes.
            var tailGrowth: Int64 = 0
            /// The next append, if there are records for it.
            var next: LogOrder?
            /// Whether the room may be released.
            var isIdle = false
        }

        /// Completes an append that is on disk and starts the next one; returns nil if it is not the running append.
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
    /// The approximate size of the entries in frames, in bytes.
    var size: Int64 { reduce(0) { $0 + $1.size } }
}
