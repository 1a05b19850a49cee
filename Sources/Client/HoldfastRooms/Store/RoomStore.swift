public import RoomCore

/// The persistent storage of a client: its device ID, its outbox, and the entries of its rooms.
///
/// Use ``SQLiteRoomStore`` for apps, and ``MemoryRoomStore`` for tests and for data that need not outlive the process. A store belongs to
/// one `Rooms` object at a time.
public protocol RoomStore: Sendable {
    /// Returns the device ID of this store, which is generated when the store is created.
    func device() async throws(RoomStoreError) -> DeviceID

    /// The maximum number of entries to keep per room; unlimited unless the store says otherwise.
    var entriesPerRoom: Int { get }

    /// Returns the rooms with stored entries or a non-empty outbox, sorted by name.
    func rooms() async throws(RoomStoreError) -> [StoredRoomSummary]

    /// Returns the stored state of a room; it is empty if the room is unknown.
    func room(_ name: RoomName) async throws(RoomStoreError) -> StoredRoom

    /// Applies changes in order: either all of them, on disk when this returns, or none of them.
    ///
    /// - Throws: ``RoomStoreError/notFollowing(_:_:)`` if a change does not follow the stored state; nothing is written then either.
    func commit(_ changes: [StoreChange]) async throws(RoomStoreError)

    /// Returns the last stored entries of a room before a sequence number, in order.
    ///
    /// - Parameters:
    ///   - room: The room.
    ///   - before: The sequence number; nil returns the very last entries.
    ///   - limit: The maximum number of entries.
    func entries(_ room: RoomName, before: Int64?, limit: Int) async throws(RoomStoreError) -> [Entry]

    /// Returns the first stored entries of a room after a position, in order.
    ///
    /// - Parameters:
    ///   - room: The room.
    ///   - after: The position.
    ///   - limit: The maximum number of entries.
    /// - Returns: The entries; nil if those after the position are not stored, because it is of another epoch, was replaced, or has
    ///   become too old.
    func entries(_ room: RoomName, after: LogPosition, limit: Int) async throws(RoomStoreError) -> [Entry]?
}

extension RoomStore {
    /// No limit.
    public var entriesPerRoom: Int { .max }
}

/// A summary of a stored room.
public struct StoredRoomSummary: Hashable, Sendable {
    /// The room.
    public var name: RoomName
    /// The position of the last stored entry.
    public var cursor: LogPosition
    /// The sequence number up to which the own user has read.
    public var read: Int64
    /// The number of stored messages after the read marker that this device did not send; edits, deletions and reactions do not count.
    public var unread: Int
    /// The number of messages that wait to be sent.
    public var waiting: Int
    /// The number of failed messages.
    public var failed: Int

    /// Creates a summary.
    public init(name: RoomName, cursor: LogPosition, read: Int64, unread: Int, waiting: Int, failed: Int) {
        (self.name, self.cursor, self.read) = (name, cursor, read)
        (self.unread, self.waiting, self.failed) = (unread, waiting, failed)
    }
}

extension StoredRoomSummary {
    /// The types of edits, deletions and reactions, which are about a message and do not count as messages.
    static let annotations: Set<String> = ["holdfast.edit", "holdfast.delete", "holdfast.react"]
}
