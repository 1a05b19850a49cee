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
}
