public import RoomCore
import RoomsStorage

/// Why a store cannot be opened, read or written.
public enum RoomStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The disk is full; it may be tried again.
    case full
    /// The directory or its disk cannot be written.
    case readOnly(String)
    /// Another process has the store open, or another object of this one.
    case inUse(String)
    /// The file is damaged, or not of a client of rooms; it is left as it is.
    case corrupt(String)
    /// The file was written by a newer version of the app.
    case newer(Int64)
    /// A change does not fit what is stored of a room; text says why.
    case notFollowing(RoomName, String)
    /// The store was closed.
    case closed
    /// Something else failed, as the system or SQLite says.
    case failed(String)

    /// What happened, and what helps.
    public var description: String {
        switch self {
        case .full: "the disk is full: make room and try again"
        case .readOnly(let path): "\(path) cannot be written: check its rights and its disk"
        case .inUse(let path): "\(path) is open elsewhere: a store belongs to one process at a time"
        case .corrupt(let reason): "the store is damaged or not one of rooms (\(reason)): what it held is lost unless it can be repaired"
        case .newer(let version): "the store was written by a newer version (\(version)): use that one"
        case .notFollowing(let room, let reason): "a change does not follow what is stored of \(room): \(reason)"
        case .closed: "the store is closed"
        case .failed(let reason): "the store failed: \(reason)"
        }
    }
}

extension RoomStoreError: StorageError {}
