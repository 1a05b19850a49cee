import RoomsStorage

/// Why a hub's log cannot be opened or written.
public enum RoomLogError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another process has the directory, or another hub of this one.
    case inUse(String)
    /// The file is damaged, or not of a hub; it is left as it is.
    case corrupt(String)
    /// The file was written by a newer program, in this version.
    case newer(Int64)
    /// The disk is full.
    case full
    /// The directory or its disk cannot be written.
    case readOnly(String)
    /// There is something already where a backup should go.
    case exists(String)
    /// There is no such room.
    case noRoom(String)
    /// The log was closed.
    case closed
    /// Something else failed, as the system or SQLite says.
    case failed(String)

    /// What happened, and what helps.
    public var description: String {
        switch self {
        case .inUse(let path): "another hub has \(path) open: stop it first"
        case .corrupt(let reason): "the log is damaged or not one of a hub (\(reason)): restore a backup into an empty directory"
        case .newer(let version): "the log was written by a newer version (\(version)): use that one"
        case .full: "the disk is full: it is tried again, make room"
        case .readOnly(let path): "\(path) cannot be written: check its rights and its disk"
        case .exists(let path): "\(path) exists: backups replace nothing"
        case .noRoom(let name): "there is no room \(name)"
        case .closed: "the log is closed"
        case .failed(let reason): "the log failed: \(reason)"
        }
    }
}

extension RoomLogError: StorageError {}
