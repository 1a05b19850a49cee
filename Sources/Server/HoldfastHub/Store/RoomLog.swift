package import RoomCore
import RoomsStorage

/// The storage of a hub's publications; other storage engines can implement this protocol.
///
/// The orders of one room are carried out in the order of the calls. Calls may overlap if no two of them write to the same room. A
/// read-only call may overlap any other, and sees everything that was answered before it began.
package protocol RoomLog: Sendable {
    /// Carries out orders, and returns the replies of those that have one, in their order.
    ///
    /// All appends of a call are one transaction. A caller that collects orders during a call and passes them to the next call gets group
    /// commits.
    func carryOut(_ orders: [LogOrder]) async -> [LogReply]

    /// Does a small part of retention, and writes deferred data.
    ///
    /// Call it about once per second, and again at once while there is more.
    ///
    /// - Parameters:
    ///   - now: The wall-clock time, in milliseconds since 1970 UTC.
    ///   - ran: How long the hub has run since it opened the log, in milliseconds, independent of the wall clock.
    func tend(now: Int64, ran: Int64) async -> LogCare

    /// Whether the log accepts publications.
    var health: LogHealth { get async }

    /// The figures of the log so far.
    var figures: LogFigures { get async }
}

/// The result of tending a log.
package struct LogCare: Hashable, Sendable {
    /// Replies for the hub: rooms that were trimmed.
    package var replies: [LogReply] = []
    /// Whether there is more to do at once.
    package var hasMore = false
    /// The time of the log's clock, which decides what is forgotten; 0: none.
    package var time: Int64 = 0
    /// Why nothing is forgotten now: the wall clock is far from the expected time.
    package var doubt: LogClock.Doubt?

    package init(replies: [LogReply] = [], hasMore: Bool = false) { (self.replies, self.hasMore) = (replies, hasMore) }
}

/// Whether a log accepts publications.
package enum LogHealth: Hashable, Sendable {
    /// The last transaction is on disk.
    case healthy
    /// The last transaction failed; the next one is still tried.
    case failing(RoomLogError)

    /// Whether the log accepts publications.
    package var isHealthy: Bool { self == .healthy }
}

/// The figures of a log since it was opened, and its size.
package struct LogFigures: Hashable, Sendable {
    /// Transactions on disk.
    package var commits = 0
    /// Entries and voided device numbers in these transactions.
    package var records = 0
    /// Transactions that failed.
    package var failures = 0
    /// The reason of the last failure.
    package var lastFailure: RoomLogError?
    /// The durations of transactions, from the first statement until the last byte is on disk.
    package var commitTimes = CommitTimes()
    /// Entries that retention deleted.
    package var trimmed = 0
    /// Devices that were forgotten.
    package var forgotten = 0
    /// Why nothing is forgotten now: the wall clock is far from the expected time.
    package var doubt: LogClock.Doubt?
    /// Open rooms.
    package var openRooms = 0
    /// The sizes of the file and of its write-ahead log, in bytes.
    package var fileBytes: Int64 = 0
    package var journalBytes: Int64 = 0

    package init() {}
}

/// A histogram of transaction durations.
package struct CommitTimes: Hashable, Sendable {
    /// The upper bounds of all but the last bucket, in microseconds.
    package static let bounds: [Int64] = [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000]
    /// The number of transactions in each bucket: at most its bound, and more than the previous bound.
    package private(set) var counts = [Int](repeating: 0, count: bounds.count + 1)
    /// The sum of the durations, in microseconds.
    package private(set) var total: Int64 = 0
    /// The longest duration, in microseconds.
    package private(set) var longest: Int64 = 0

    package init() {}

    /// Adds one duration.
    package mutating func add(microseconds: Int64) {
        counts[Self.bounds.firstIndex { microseconds <= $0 } ?? Self.bounds.count] += 1
        total += microseconds
        longest = max(longest, microseconds)
    }
}

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
