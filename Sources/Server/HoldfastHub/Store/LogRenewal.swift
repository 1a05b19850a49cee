/// A reason why all rooms of a log got new epochs when it was opened: clients may know more than the log contains.
package enum LogRenewal: Hashable, Sendable, CustomStringConvertible {
    /// The configuration asked for it.
    case asked
    /// The file is a backup.
    case backup
    /// The log's last transaction, and the last transaction that was committed.
    case rewound(to: Int64, from: Int64)
    /// The database, its high mark or its lock is not the file that the last hub used, or the lock was overwritten.
    case moved
    /// There is no high mark.
    case noMark
    /// The high mark is invalid.
    case damagedMark
    /// An earlier start began to draw new epochs and was interrupted.
    case unfinished
    /// The journal contains the ends of this many transactions after the last one that can be read.
    case lostTransactions(Int)

    /// The reason in words, for people.
    package var description: String {
        switch self {
        case .asked: "it was asked for"
        case .backup: "the log is a backup"
        case .rewound(let last, let high):
            """
            the log ends with transaction \(last), but \(high) were committed: its journal is damaged or missing, or it is an older copy
            """
        case .moved:
            """
            the log's files are not those of the last hub, or were overwritten: its directory was copied or restored, or got \
            other permissions
            """
        case .noMark: "the file high is missing, which stores the number of the last transaction"
        case .damagedMark: "the file high is damaged, which stores the number of the last transaction"
        case .unfinished: "an earlier start began to draw new epochs and was interrupted"
        case .lostTransactions(let count): "the journal is damaged: \(count) more transactions end after its readable part"
        }
    }
}

/// The state in which a log was opened.
package struct LogOpening: Hashable, Sendable {
    /// Why all rooms got new epochs; empty if they keep theirs.
    package var renewals: [LogRenewal] = []
    /// The time of the log's clock, in milliseconds since 1970 UTC, which decides what is forgotten; 0 for a new log.
    package var time: Int64 = 0
}
