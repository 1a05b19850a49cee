extension HubMachine {
    /// What the log was asked, to be remembered until it answers.
    struct Question: Sendable {
        enum Purpose: Sendable {
            /// Missed entries: those after a number.
            case resume(after: Int64)
            /// The last entries: so many at most.
            case snapshot(limit: Int64)
            /// A page backwards.
            case history(reference: Int64, before: Int64)
            /// What is stored under a number already.
            case duplicate(DeviceID, cseq: Int64)
            /// The same for the server itself.
            case repeated(ServerRequest, DeviceID, cseq: Int64)
        }
        var room: RoomName
        /// Who wants to know; nil: the server itself.
        var connection: ConnectionID?
        /// The opening of the room in which it was asked.
        var generation: Int64
        var purpose: Purpose
    }

    /// What the log answers to one who wants entries.
    struct LogPage: Sendable {
        var entries: [Entry]
        /// The first number that was retained then.
        var base: Int64
        /// What the entry below that was, if it is known.
        var below: EntryStamp?

        init(_ entries: [Entry], base: Int64, below: EntryStamp? = nil) {
            (self.entries, self.base, self.below) = (entries, base, below)
        }
    }
}
