public import RoomCore
import RoomsStorage

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
