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
}
