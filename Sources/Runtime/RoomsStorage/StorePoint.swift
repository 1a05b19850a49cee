/// A moment in the life of a store at which a test lets the process die.
///
/// They are the cuts of the failure table in docs/rooms-protocol.md, and those between its lines.
package enum StorePoint: String, CaseIterable, Sendable {
    /// A client's message is to enter the outbox; nothing is written.
    case clientQueues = "client-queues"
    /// It is written, and not committed.
    case clientQueuesUncommitted = "client-queues-uncommitted"
    /// It is committed, and the app does not know.
    case clientQueued = "client-queued"
    /// Entries, acks or a snapshot were received; nothing is written.
    case clientReceived = "client-received"
    /// They are written in part.
    case clientReceivedPartly = "client-received-partly"
    /// They are written, and not committed.
    case clientReceivedUncommitted = "client-received-uncommitted"
    /// They are committed, and nobody knows.
    case clientCommitted = "client-committed"

    /// A hub is to append; nothing is written.
    case hubAppends = "hub-appends"
    /// It is written in part.
    case hubAppendsPartly = "hub-appends-partly"
    /// It is written, and not committed.
    case hubAppendsUncommitted = "hub-appends-uncommitted"
    /// It is committed, and not acked.
    case hubAppended = "hub-appended"
    /// Entries were taken away by retention, and that is not committed.
    case hubTrims = "hub-trims"
    /// It is committed, and nobody was told.
    case hubTrimmed = "hub-trimmed"
    /// A backup is copied, and not marked as a copy.
    case hubCopies = "hub-copies"
    /// It is marked, and has not got its name.
    case hubCopiesMarked = "hub-copies-marked"
    /// A backup that a hub has opened is to get new epochs, and that is not committed.
    case hubRenews = "hub-renews"
}

/// Called at each point that is passed.
package typealias StoreHook = @Sendable (StorePoint) -> Void
