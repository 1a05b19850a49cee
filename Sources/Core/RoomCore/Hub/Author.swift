import MachineCore

extension HubMachine {
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
