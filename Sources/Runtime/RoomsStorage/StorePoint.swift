/// A point in the life of a store at which a test can end the process.
///
/// The points are the cuts of the failure table in docs/rooms-protocol.md, and those between its rows.
package enum StorePoint: String, CaseIterable, Sendable {
    /// A client is about to queue a message; nothing is written.
    case clientQueues = "client-queues"
    /// The message is written, and not committed.
    case clientQueuesUncommitted = "client-queues-uncommitted"
    /// The message is committed, and the app does not know it yet.
    case clientQueued = "client-queued"
    /// A client has received entries, acks or a snapshot; nothing is written.
    case clientReceived = "client-received"
    /// They are partly written.
    case clientReceivedPartly = "client-received-partly"
    /// They are written, and not committed.
    case clientReceivedUncommitted = "client-received-uncommitted"
    /// They are committed, and the app does not know it yet.
    case clientCommitted = "client-committed"

    /// A hub is about to append an entry; nothing is written.
    case hubAppends = "hub-appends"
    /// The entry is partly written.
    case hubAppendsPartly = "hub-appends-partly"
    /// The entry is written, and not committed.
    case hubAppendsUncommitted = "hub-appends-uncommitted"
    /// The entry is committed, and not acknowledged.
    case hubAppended = "hub-appended"
    /// Retention has removed entries, and that is not committed.
    case hubTrims = "hub-trims"
    /// The removal is committed, and nobody has been told yet.
    case hubTrimmed = "hub-trimmed"
    /// A backup is copied, and not marked as a copy.
    case hubCopies = "hub-copies"
    /// The backup is marked, and has not got its final name.
    case hubCopiesMarked = "hub-copies-marked"
    /// A hub has opened a backup and gives it new epochs, and that is not committed.
    case hubRenews = "hub-renews"
}

/// Called when a point is passed.
package typealias StoreHook = @Sendable (StorePoint) -> Void
