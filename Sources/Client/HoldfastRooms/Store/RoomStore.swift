public import RoomCore
import RoomsStorage

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

/// An error while a store is opened, read or written.
public enum RoomStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The disk is full; a retry may help.
    case full
    /// The directory or its disk cannot be written.
    case readOnly(String)
    /// Another process, or another object in this process, has the store open.
    case inUse(String)
    /// The file is damaged or is not a rooms store; it is left unchanged.
    case corrupt(String)
    /// The file was written by a newer version of the app.
    case newer(Int64)
    /// A change does not follow the stored state of a room; the text says why.
    case notFollowing(RoomName, String)
    /// The store was closed.
    case closed
    /// Another failure, with the message of the system or of SQLite.
    case failed(String)

    /// The error and what to do about it.
    public var description: String {
        switch self {
        case .full: "the disk is full: free some space and try again"
        case .readOnly(let path): "\(path) cannot be written: check its permissions and its disk"
        case .inUse(let path): "\(path) is open elsewhere: a store belongs to one process at a time"
        case .corrupt(let reason): "the store is damaged or is not a rooms store (\(reason)): its data are lost unless it can be repaired"
        case .newer(let version): "the store was written by a newer version (\(version)): use that one"
        case .notFollowing(let room, let reason): "a change does not follow what is stored of \(room): \(reason)"
        case .closed: "the store is closed"
        case .failed(let reason): "the store failed: \(reason)"
        }
    }
}

extension RoomStoreError: StorageError {}
