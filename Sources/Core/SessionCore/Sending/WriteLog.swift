/// Tracks the outcome of the messages that one connection took.
///
/// A socket takes bytes in order, so one number describes its progress.
package struct WriteLog: Hashable, Sendable {
    /// The number of messages that the connection took.
    package private(set) var taken: UInt64 = 0
    /// The number of messages, from the first on, that the socket took completely; at most `taken`.
    package private(set) var written: UInt64 = 0
    /// Whether the connection is over: it takes and writes nothing more.
    package private(set) var isOver = false

    /// Creates the log of a connection that has taken nothing yet.
    package init() {}

    /// Whether the outcome of some message is still open.
    package var isPending: Bool { !isOver && written < taken }

    /// Records that the connection took one more message.
    ///
    /// - Returns: The serial number of the message, from 1; nil if the connection is over and has not taken it.
    package mutating func take() -> UInt64? {
        guard !isOver else { return nil }
        taken += 1
        return taken
    }

    /// Records that the socket took all bytes of this message, and so of every earlier one.
    ///
    /// Late and repeated calls change nothing: an outcome that was reported stays.
    package mutating func write(through serial: UInt64) {
        guard !isOver else { return }
        written = max(written, min(serial, taken))
    }

    /// Records that the connection is over.
    package mutating func end() { isOver = true }

    /// Returns the outcome of a message that was taken; nil while it is open.
    package func outcome(of serial: UInt64) -> SendOutcome? {
        if serial <= written { return .written }
        return isOver ? .unknown : nil
    }
}
