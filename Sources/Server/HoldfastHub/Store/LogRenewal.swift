/// Why all rooms of a log got new epochs when it was opened: what clients know of it may be more than it holds.
package enum LogRenewal: Hashable, Sendable, CustomStringConvertible {
    /// It was asked for.
    case asked
    /// The file is a backup.
    case backup
    /// The last transaction that is there, and the last that was committed.
    case rewound(to: Int64, from: Int64)
    /// The file, its high mark or its lock is another file than the one that the last hub had, or the lock was written over.
    case moved
    /// There is no high mark.
    case noMark
    /// The high mark is not as a hub wrote it.
    case damagedMark
    /// An earlier start drew new epochs, and did not come to its end.
    case unfinished
    /// Past the last transaction that can be read the journal holds the ends of so many more.
    case lostTransactions(Int)

    /// For people.
    package var description: String {
        switch self {
        case .asked: "it was asked for"
        case .backup: "the log is a backup"
        case .rewound(let last, let high):
            """
            the log ends with its transaction \(last), and \(high) were committed: its journal is damaged or gone, or it is an older one
            """
        case .moved:
            """
            the log stands in other files than the last hub had, or they were written over: its directory was copied, restored, or given \
            other rights
            """
        case .noMark: "the file high is gone, which says how far the log had come"
        case .damagedMark: "the file high is damaged, which says how far the log had come"
        case .unfinished: "an earlier start began to draw new epochs, and ended before it was done"
        case .lostTransactions(let count): "the journal is damaged: past what can be read of it lie the ends of \(count) more transactions"
        }
    }
}

/// How a log was found when it was opened.
package struct LogOpening: Hashable, Sendable {
    /// Why all its rooms got new epochs; empty: they keep theirs.
    package var renewals: [LogRenewal] = []
    /// The log's time, by which it forgets, in milliseconds since 1970 UTC; 0: it is a new one.
    package var time: Int64 = 0
}
