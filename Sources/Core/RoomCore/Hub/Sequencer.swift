import MachineCore

extension HubMachine {
    /// Gives numbers, and hands what has been numbered to the log, one append at a time.
    ///
    /// What comes while an append is under way gathers into the next one.
    struct Sequencer: Sendable {
        /// A record that is not known to be on disk.
        struct Pending: Sendable {
            var record: LogRecord
            var device: DeviceID
            var ack: HubFrame.Ack
            /// Who published it; nil: the server itself.
            var connection: ConnectionID?
            var size: Int64
            /// What was charged for it; 0: nothing was.
            var price: Int64

            /// Whose quota was charged.
            var payer: UserName? {
                guard price > 0 else { return nil }
                return switch record {
                case .entry(let entry): entry.user
                case .void(_, let user, _, _, _): user
                }
            }
        }
        /// The log's incarnation; 0 before it is known.
        private(set) var epoch: UInt64 = 0
        /// The last number that is known to be on disk.
        private(set) var head: Int64 = 0
        /// The last number that was given.
        private var last: Int64 = 0
        private var batch: Int64 = 0
        private var underWay: [Pending] = []
        private var gathered: [Pending] = []
        private(set) var bytes: Int64 = 0

        var isIdle: Bool { underWay.isEmpty && gathered.isEmpty }
        var count: Int { underWay.count + gathered.count }

        /// Begins with a log as it was opened; nothing may be pending.
        mutating func begin(epoch: UInt64, head: Int64) { (self.epoch, self.head, last) = (epoch, head, head) }

        /// Numbers a message, which goes with the next append.
        mutating func take(
            _ publication: Publication, of device: DeviceID, by user: UserName, isAdmin: Bool, at: Int64, from: ConnectionID?
        ) {
            var pending: Pending
            // The server's own publications have no quota.
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

        /// The next append, if none is under way and something is there for it.
        mutating func nextAppend(to room: RoomName, batch number: Int64) -> LogOrder? {
            guard underWay.isEmpty, !gathered.isEmpty else { return nil }
            swap(&underWay, &gathered)
            batch = number
            return .append(room, batch: number, underWay.map(\.record))
        }

        /// Takes what is on disk now, in order; nil if that append is not the one under way.
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

        /// Gives up what is pending, in order; nil if that append is not the one under way.
        ///
        /// Nothing may be taken before it begins again.
        mutating func notAppended(batch number: Int64) -> [Pending]? {
            guard number == batch, !underWay.isEmpty else { return nil }
            let dropped = underWay + gathered
            (underWay, gathered, bytes) = ([], [], 0)
            return dropped
        }
    }

    /// A device as one who publishes in a room.
    struct Author: Sendable {
        /// What is known of its mark.
        enum Knowledge: Sendable {
            case unknown
            case asked
            case known
        }
        /// A publication of the server's own that waits.
        struct Request: Sendable {
            var request: ServerRequest
            var publication: Publication
        }
        var user: UserName
        var knowledge = Knowledge.unknown
        /// The greatest number that is on disk.
        var high: Int64 = 0
        /// Its name.
        var highID: MessageID?
        /// Its ack, if it was published since the mark was read: sent once more, it asks nothing of the log.
        var highAck: HubFrame.Ack?
        /// The greatest number that was taken, on disk or not.
        var taken: Int64 = 0
        /// The greatest number that was taken before its connection here came: that one is told of nothing before this is on disk.
        var fence: Int64 = 0
        /// When the client was told where to send again from, if it has not yet done so.
        var asked: Moment?
        /// The last number that came beyond what comes next: a lower one begins another run.
        private var lastBeyond: Int64 = 0
        /// Its connection in this room.
        var connection: ConnectionID?
        /// Requests of the server's own that wait for the mark.
        var waiting: [Request] = []
        /// Requests whose publication is pending.
        var pending: [(request: ServerRequest, cseq: Int64)] = []

        init(user: UserName) { self.user = user }

        var isIdle: Bool { connection == nil && taken == high && waiting.isEmpty && pending.isEmpty && knowledge != .asked }

        mutating func learn(_ mark: DeviceMark?) {
            (knowledge, high, highAck) = (.known, mark?.high ?? 0, nil)
            highID = high > 0 ? mark?.id : nil
            (taken, fence, asked) = (high, 0, nil)
        }

        /// Another connection is in the room with the device: what was taken so far is an older one's.
        mutating func welcome() { (fence, asked) = (taken, nil) }

        /// Whether something of an older connection is on its way to disk.
        var isFenced: Bool { high < fence }

        /// Nothing that was taken and is not on disk is waited for any more: nobody knows what became of it.
        mutating func giveUp() { (knowledge, taken, fence, pending) = (.unknown, high, 0, []) }
    }

    /// What a number means in the order of its device.
    enum Place: Equatable, Sendable {
        /// It comes next.
        case next
        /// It is on disk already.
        case stored
        /// It was taken, and its ack will come.
        case pending
        /// Something is missing before it; the client is to be asked for that.
        case beyond(Int64)
        /// Something is missing before it; the client was asked.
        case stillBeyond
    }

    /// The last entries of a room's log, contiguous up to its head.
    struct Tail: Sendable {
        private var entries: [Entry] = []
        /// What the entry before them was, if it is known.
        private var before: EntryStamp?
        /// About how many bytes they take.
        private(set) var bytes: Int64 = 0

        /// The number of the first entry here; nil if there is none.
        var first: Int64? { entries.first?.seq }

        /// Appends what follows; of what is beyond twice the bounds the older half goes, so that an entry costs the same in the long run.
        ///
        /// - Parameter last: What the entry before these was.
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

        /// What an entry was; nil if it is not here.
        func stamp(of seq: Int64) -> EntryStamp? {
            guard let first, seq >= first - 1, seq - first < Int64(entries.count) else { return nil }
            return seq < first ? before : EntryStamp(entries[Int(seq - first)])
        }

        /// The entries after a number, if they are here without a gap: so many at most, and so many bytes but for the first.
        func after(_ seq: Int64, limit: Int64, bytes most: Int64) -> [Entry]? {
            guard let first, seq >= first - 1 else { return nil }
            let start = Int(min(seq - first + 1, Int64(entries.count)))
            return Array(entries[start...].prefix(Int(clamping: limit))).withinBytes(most)
        }
    }
}

extension HubMachine.Author {
    /// What a number means; a hole is told again to one who went back after so long and still leaves it out.
    mutating func place(of cseq: Int64, at now: Moment, patience: Duration) -> HubMachine.Place {
        if cseq <= high { return .stored }
        if cseq <= taken { return .pending }
        if cseq == taken &+ 1 {
            asked = nil
            return .next
        }
        // Once for a run. Another run begins when the client goes back; soon after the first one it has not yet heard of it.
        defer { lastBeyond = cseq }
        if let asked, cseq > lastBeyond || now < asked + patience { return .stillBeyond }
        asked = now
        return .beyond(taken &+ 1)
    }
}

extension Entry {
    /// About how many bytes it takes in a frame.
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
    /// About how many bytes it takes on disk; a void takes those of its device's mark.
    var storedSize: Int64 {
        320 + (content.map { Int64($0.payload.bytes.count + $0.type.utf8.count + ($0.about?.kind.utf8.count ?? 0)) } ?? 0)
    }
}

extension [Entry] {
    /// As many of the first as so many bytes hold, at least one.
    func withinBytes(_ most: Int64) -> [Entry] {
        var bytes: Int64 = 0
        for (place, entry) in enumerated() {
            bytes += entry.size
            if bytes > most, place > 0 { return Array(self[..<place]) }
        }
        return self
    }

    /// Whether each follows the one before.
    var isContiguous: Bool { zip(self, dropFirst()).allSatisfy { $0.seq &+ 1 == $1.seq } }
}
