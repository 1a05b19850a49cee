public import RoomCore

/// Where a client keeps what must outlive it: what it is, its outbox, and what it has of its rooms.
///
/// Use ``SQLiteRoomStore`` for apps, and ``MemoryRoomStore`` for tests and for what need not outlive the process. A store belongs to one
/// `Rooms` at a time.
public protocol RoomStore: Sendable {
    /// The incarnation of this store, which is drawn at first.
    func device() async throws(RoomStoreError) -> DeviceID

    /// How many entries of a room are kept at most; without a limit unless the store says so.
    var entriesPerRoom: Int { get }

    /// The rooms of which something is stored, or whose outbox holds something, by their names.
    func rooms() async throws(RoomStoreError) -> [StoredRoomSummary]

    /// What is stored of a room; of one that nobody knows, nothing.
    func room(_ name: RoomName) async throws(RoomStoreError) -> StoredRoom

    /// Writes changes in their order: all of them, on disk when this returns, or none of them.
    ///
    /// - Throws: ``RoomStoreError/notFollowing(_:_:)`` if one does not fit what is stored; nothing is written then either.
    func commit(_ changes: [StoreChange]) async throws(RoomStoreError)

    /// The last stored entries of a room below a number, in order.
    ///
    /// - Parameters:
    ///   - room: The room.
    ///   - before: The number; nil: the last of all.
    ///   - limit: How many at most.
    func entries(_ room: RoomName, before: Int64?, limit: Int) async throws(RoomStoreError) -> [Entry]

    /// The first stored entries of a room after a place, in order.
    ///
    /// - Parameters:
    ///   - room: The room.
    ///   - after: The place.
    ///   - limit: How many at most.
    /// - Returns: nil if what follows that place is not stored, for it is of another epoch, was replaced or has become too old.
    func entries(_ room: RoomName, after: LogPosition, limit: Int) async throws(RoomStoreError) -> [Entry]?
}

extension RoomStore {
    /// No limit.
    public var entriesPerRoom: Int { .max }
}

/// What there is of a room in a store.
public struct StoredRoomSummary: Hashable, Sendable {
    /// The room.
    public var name: RoomName
    /// The last entry that is stored.
    public var cursor: LogPosition
    /// How far the own user has read.
    public var read: Int64
    /// Stored messages after that which this device did not send; edits, deletions and reactions are not counted.
    public var unread: Int
    /// Messages that wait to be sent.
    public var waiting: Int
    /// Messages that failed.
    public var failed: Int

    /// What there is of a room in a store.
    public init(name: RoomName, cursor: LogPosition, read: Int64, unread: Int, waiting: Int, failed: Int) {
        (self.name, self.cursor, self.read) = (name, cursor, read)
        (self.unread, self.waiting, self.failed) = (unread, waiting, failed)
    }
}

extension StoredRoomSummary {
    /// The types that say something about a message, and are none themselves.
    static let remarks: Set<String> = ["holdfast.edit", "holdfast.delete", "holdfast.react"]
}
