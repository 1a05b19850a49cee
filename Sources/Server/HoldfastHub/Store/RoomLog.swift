package import RoomCore

/// Where a hub keeps what was published: the seam behind which another engine can stand.
///
/// The orders of one room are carried out in the order in which they are handed over. Calls may overlap if no two of them that do write to
/// the same room. A call that only reads may overlap any other, and sees all that was answered before it began.
package protocol RoomLog: Sendable {
    /// Carries out orders, and answers those that have an answer, in their order.
    ///
    /// All appends of a call are one transaction: whoever gathers what comes in while a call is under way into the next has group commit.
    func carryOut(_ orders: [LogOrder]) async -> [LogReply]

    /// Does a small part of what retention asks for, and writes what could wait; to be called about once a second, and at once again while
    /// there is more.
    ///
    /// - Parameters:
    ///   - now: What the calendar says, in milliseconds since 1970 UTC.
    ///   - ran: For how long the hub has run since it opened the log, in milliseconds, whatever the calendar says.
    func tend(now: Int64, ran: Int64) async -> LogCare

    /// Whether it takes publications.
    var health: LogHealth { get async }

    /// What it has done so far.
    var figures: LogFigures { get async }
}

/// What came of tending a log.
package struct LogCare: Hashable, Sendable {
    /// What the hub has to hear: rooms that were trimmed.
    package var replies: [LogReply] = []
    /// Whether there is more to do at once.
    package var hasMore = false
    /// The log's time, by which it forgets; 0: none.
    package var time: Int64 = 0
    /// Why nothing is forgotten now: the calendar is far from where it should be.
    package var doubt: LogClock.Doubt?

    package init(replies: [LogReply] = [], hasMore: Bool = false) { (self.replies, self.hasMore) = (replies, hasMore) }
}

/// Whether a log takes publications.
package enum LogHealth: Hashable, Sendable {
    /// The last transaction is on disk.
    case healthy
    /// The last one failed; the next is tried all the same.
    case failing(RoomLogError)

    /// Whether it takes publications.
    package var isHealthy: Bool { self == .healthy }
}

/// What a log has done since it was opened, and how large it is.
package struct LogFigures: Hashable, Sendable {
    /// Transactions that are on disk.
    package var commits = 0
    /// Entries and burnt numbers in them.
    package var records = 0
    /// Transactions that failed.
    package var failures = 0
    /// Why the last of them did.
    package var lastFailure: RoomLogError?
    /// How long transactions took, from their first statement to their last byte on disk.
    package var commitTimes = CommitTimes()
    /// Entries that retention took away.
    package var trimmed = 0
    /// Devices that were forgotten.
    package var forgotten = 0
    /// Why nothing is forgotten now: the calendar is far from where it should be.
    package var doubt: LogClock.Doubt?
    /// Rooms that are open.
    package var openRooms = 0
    /// Bytes of the file, and of its write-ahead log.
    package var fileBytes: Int64 = 0
    package var journalBytes: Int64 = 0

    package init() {}
}

/// How many transactions took how long.
package struct CommitTimes: Hashable, Sendable {
    /// The upper bounds of all but the last bucket, in microseconds.
    package static let bounds: [Int64] = [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000]
    /// How many took at most the bound, and more than the one before.
    package private(set) var counts = [Int](repeating: 0, count: bounds.count + 1)
    /// Their sum, in microseconds.
    package private(set) var total: Int64 = 0
    /// The longest, in microseconds.
    package private(set) var longest: Int64 = 0

    package init() {}

    /// Counts one.
    package mutating func add(microseconds: Int64) {
        counts[Self.bounds.firstIndex { microseconds <= $0 } ?? Self.bounds.count] += 1
        total += microseconds
        longest = max(longest, microseconds)
    }
}
