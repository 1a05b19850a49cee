import RoomsStorage

/// The reason why a hub's log cannot be opened or written.
public enum RoomLogError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another process, or another hub of this process, uses the directory.
    case inUse(String)
    /// The file is damaged, or does not belong to a hub; it is left unchanged.
    case corrupt(String)
    /// A newer program wrote the file; the value is its version.
    case newer(Int64)
    /// The disk is full.
    case full
    /// The directory or its disk is not writable.
    case readOnly(String)
    /// A file exists at the path for the backup.
    case exists(String)
    /// There is no such room.
    case noRoom(String)
    /// The log was closed.
    case closed
    /// Another failure, in the words of the system or of SQLite.
    case failed(String)

    /// What happened, and how to fix it.
    public var description: String {
        switch self {
        case .inUse(let path): "another hub has \(path) open: stop it first"
        case .corrupt(let reason): "the log is damaged or not the log of a hub (\(reason)): restore a backup into an empty directory"
        case .newer(let version): "the log was written by a newer version (\(version)): use that version"
        case .full: "the disk is full: free some space, the hub keeps trying"
        case .readOnly(let path): "\(path) cannot be written: check its permissions and its disk"
        case .exists(let path): "\(path) exists: a backup replaces no files"
        case .noRoom(let name): "there is no room \(name)"
        case .closed: "the log is closed"
        case .failed(let reason): "the log failed: \(reason)"
        }
    }
}

extension RoomLogError: StorageError {}
