import MachineCore

extension HubMachine {
    /// Numbers publications and passes them to the log, one append at a time.
    ///
    /// Records that come during an append are collected for the next one.
    struct Sequencer: Sendable {
        /// A record that is not known to be on disk.
        struct Pending: Sendable {
            var record: LogRecord
            var device: DeviceID
            var ack: HubFrame.Ack
            /// The connection that published it; nil: the server itself.
            var connection: ConnectionID?
            var size: Int64
            /// The bytes charged for it; 0: none.
            var price: Int64

            /// The user whose quota was charged.
            var payer: UserName? {
                guard price > 0 else { return nil }
                return switch record {
                case .entry(let entry): entry.user
                case .void(_, let user, _, _, _): user
                }
            }
        }
        /// The epoch of the log; 0 before it is known.
        private(set) var epoch: UInt64 = 0
        /// The last number that is known to be on disk.
        private(set) var head: Int64 = 0
        /// The last number that was assigned.
        private var last: Int64 = 0
        private var batch: Int64 = 0
        private var underWay: [Pending] = []
        private var gathered: [Pending] = []
        private(set) var bytes: Int64 = 0

        var isIdle: Bool { underWay.isEmpty && gathered.isEmpty }
        var count: Int { underWay.count + gathered.count }

        /// Starts with the state of an opened log; nothing may be pending.
        mutating func begin(epoch: UInt64, head: Int64) { (self.epoch, self.head, last) = (epoch, head, head) }

        /// Numbers a publication and adds it to the next append.
        mutating func take(
            _ publication: Publication, of device: DeviceID, by user: UserName, isAdmin: Bool, at: Int64, from: ConnectionID?
        ) {
            var pending: Pending
            // The server's own publications are not charged.
            let price = from == nil ? 0 : publication.storedSize
            if let content = publication.content {
                last += 1
                let entry = Entry(
                    seq: last, id: publication.id, device: device, cseq: publication.cseq, user: user, at: at, sent: publication.sent,
                    type: content.type, about: content.about, payload: content.payload, isAdmin: isAdmin)
                pending = Pending(
                    record: .entry(entry), device: device, ack: HubFrame.Ack(cseq: publication.cseq, seq: last, at: at, id: publication.id),
                    connection: from, size: entry.size, price: price)
            } else {
                pending = Pending(
                    record: .void(device, user, cseq: publication.cseq, id: publication.id, at: at), device: device,
                    ack: HubFrame.Ack(cseq: publication.cseq, seq: 0, at: at, id: publication.id), connection: from, size: 64, price: price)
            }
            bytes += pending.size
            gathered.append(pending)
        }

        /// Returns the next append, if none is running and there are records for it.
        mutating func nextAppend(to room: RoomName, batch number: Int64) -> LogOrder? {
            guard underWay.isEmpty, !gathered.isEmpty else { return nil }
            swap(&underWay, &gathered)
            batch = number
            return .append(room, batch: number, underWay.map(\.record))
        }

        /// Returns the records that are now on disk, in order; nil if this is not the running append.
        mutating func appended(batch number: Int64) -> [Pending]? {
            guard number == batch, !underWay.isEmpty else { return nil }
            let done = underWay
            underWay = []
            for pending in done {
                bytes -= pending.size
                if case .entry(let entry) = pending.record { head = entry.seq }
            }
            return done
        }

        /// Drops all pending records and returns them in order; nil if this is not the running append.
        ///
        /// No publication may be taken before `begin` is called again.
        mutating func notAppended(batch number: Int64) -> [Pending]? {
            guard number == batch, !underWay.isEmpty else { return nil }
            let dropped = underWay + gathered
            (underWay, gathered, bytes) = ([], [], 0)
            return dropped
        }
    }

    /// A device that publishes in a room.
    struct Author: Sendable {
        /// What the hub knows about the device's mark.
        enum MarkState: Sendable {
            case unknown
            case asked
            case known
        }
        /// A waiting publication of the server itself.
        struct Request: Sendable {
            var request: ServerRequest
            var publication: Publication
        }
        var user: UserName
        var knowledge = MarkState.unknown
        /// The greatest number that is on disk.
        var high: Int64 = 0
        /// The ID of that publication.
        var highID: MessageID?
        /// The ack of that publication, if it came after the mark was read; it answers a repetition without a log request.
        var highAck: HubFrame.Ack?
        /// The greatest number that was accepted, on disk or not.
        var taken: Int64 = 0
        /// The greatest number accepted before the current connection joined; that connection gets no state before this is on disk.
        var fence: Int64 = 0
        /// When the client was told where to send again from, if it has not done so yet.
        var asked: Moment?
        /// The last number that left out earlier ones; a lower number starts another run.
        private var lastBeyond: Int64 = 0
        /// The device's connection in this room.
        var connection: ConnectionID?
        /// The server's requests that wait for the mark.
        var waiting: [Request] = []
        /// The requests whose publication is pending.
        var pending: [(request: ServerRequest, cseq: Int64)] = []

        init(user: UserName) { self.user = user }

        var isIdle: Bool { connection == nil && taken == high && waiting.isEmpty && pending.isEmpty && knowledge != .asked }

        mutating func learn(_ mark: DeviceMark?) {
            (knowledge, high, highAck) = (.known, mark?.high ?? 0, nil)
            highID = high > 0 ? mark?.id : nil
            (taken, fence, asked) = (high, 0, nil)
        }

        /// Records that a new connection with the device has joined; earlier accepted publications belong to an older connection.
        mutating func welcome() { (fence, asked) = (taken, nil) }

        /// Whether a publication of an older connection is still pending.
        var isFenced: Bool { high < fence }

        /// Forgets all pending publications, because it is unknown whether they are on disk.
        mutating func giveUp() { (knowledge, taken, fence, pending) = (.unknown, high, 0, []) }
    }

    /// The place of a number in the sequence of its device.
    enum Place: Equatable, Sendable {
        /// It is the next number.
        case next
        /// It is on disk already.
        case stored
        /// It was accepted, and its ack will follow.
        case pending
        /// An earlier number is missing; the client must be told.
        case beyond(Int64)
        /// An earlier number is missing; the client was already told.
        case stillBeyond
    }

    /// The last entries of a room's log, without gaps up to the head.
    struct Tail: Sendable {
        private var entries: [Entry] = []
        /// The stamp of the entry before them, if it is known.
        private var before: EntryStamp?
        /// Their approximate size in bytes.
        private(set) var bytes: Int64 = 0

        /// The number of the first entry here; nil if there is none.
        var first: Int64? { entries.first?.seq }

        /// Appends entries; above twice the limits it drops the older half, so that the average cost per entry is constant.
        ///
        /// - Parameter last: The stamp of the entry before these.
        mutating func append(_ new: [Entry], after last: EntryStamp?, entries most: Int, bytes mostBytes: Int64) {
            if entries.isEmpty { before = last }
            entries += new
            bytes = new.reduce(into: bytes) { $0 += $1.size }
            guard entries.count > 2 * most || bytes > 2 * mostBytes else { return }
            var dropped = 0
            while entries.count - dropped > most || bytes > mostBytes, dropped < entries.count {
                bytes -= entries[dropped].size
                dropped += 1
            }
            if dropped > 0 { before = EntryStamp(entries[dropped - 1]) }
            entries.removeFirst(dropped)
        }

        mutating func removeAll() { (entries, bytes, before) = ([], 0, nil) }

        /// Returns the stamp of an entry; nil if it is not here.
        func stamp(of seq: Int64) -> EntryStamp? {
            guard let first, seq >= first - 1, seq - first < Int64(entries.count) else { return nil }
            return seq < first ? before : EntryStamp(entries[Int(seq - first)])
        }

        /// Returns the entries after a number, if they are here without a gap, up to both limits but at least one.
        func after(_ seq: Int64, limit: Int64, bytes most: Int64) -> [Entry]? {
            guard let first, seq >= first - 1 else { return nil }
            let start = Int(min(seq - first + 1, Int64(entries.count)))
            return Array(entries[start...].prefix(Int(clamping: limit))).withinBytes(most)
        }
    }
}

extension HubMachine.Author {
    /// Returns the place of a number; a hole is reported again if the client went back after `patience` and still leaves it out.
    mutating func place(of cseq: Int64, at now: Moment, patience: Duration) -> HubMachine.Place {
        if cseq <= high { return .stored }
        if cseq <= taken { return .pending }
        if cseq == taken &+ 1 {
            asked = nil
            return .next
        }
        // Report a hole once per run. A new run starts when the client goes back; soon after the first report it may not have received it
        // yet.
        defer { lastBeyond = cseq }
        if let asked, cseq > lastBeyond || now < asked + patience { return .stillBeyond }
        asked = now
        return .beyond(taken &+ 1)
    }
}

extension Entry {
    /// The approximate size in a frame, in bytes.
    var size: Int64 {
        let payload = Int64(payload.bytes.count)
        let text = Int64(type.utf8.count + user.text.utf8.count + (about?.kind.utf8.count ?? 0))
        return switch self.payload {
        case .json: 320 + text + payload
        case .binary: 320 + text + payload / 3 * 4
        }
    }
}

extension Publication {
    /// The approximate size on disk, in bytes; a void takes the size of its device's mark.
    var storedSize: Int64 {
        320 + (content.map { Int64($0.payload.bytes.count + $0.type.utf8.count + ($0.about?.kind.utf8.count ?? 0)) } ?? 0)
    }
}

extension [Entry] {
    /// Returns as many of the first entries as fit into this many bytes, but at least one.
    func withinBytes(_ most: Int64) -> [Entry] {
        var bytes: Int64 = 0
        for (place, entry) in enumerated() {
            bytes += entry.size
            if bytes > most, place > 0 { return Array(self[..<place]) }
        }
        return self
    }

    /// Whether the entries are numbered without gaps.
    var isContiguous: Bool { zip(self, dropFirst()).allSatisfy { $0.seq &+ 1 == $1.seq } }
}
