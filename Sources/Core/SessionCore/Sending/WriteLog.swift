/// What became of the messages that one connection took.
///
/// A socket takes bytes in order, so one number tells how far it has come.
public struct WriteLog: Hashable, Sendable {
    /// How many messages the connection took.
    public private(set) var taken: UInt64 = 0
    /// How many of them, from the first on, the socket took whole; at most `taken`.
    public private(set) var written: UInt64 = 0
    /// Whether the connection is over: nothing more will be taken or written.
    public private(set) var isOver = false

    /// The log of a connection that has taken nothing yet.
    public init() {}

    /// Whether the fate of some message is still open.
    public var isPending: Bool { !isOver && written < taken }

    /// Notes that the connection took one more message.
    ///
    /// - Returns: The message's serial, from 1; nil if the connection is over, and so has not taken it.
    public mutating func take() -> UInt64? {
        guard !isOver else { return nil }
        taken += 1
        return taken
    }

    /// Notes that the socket took all bytes of this message, and so of every earlier one.
    ///
    /// Late and repeated news changes nothing: a fate once told stays.
    public mutating func write(through serial: UInt64) {
        guard !isOver else { return }
        written = max(written, min(serial, taken))
    }

    /// Notes that the connection is over.
    public mutating func end() { isOver = true }

    /// What became of a message that was taken; nil while that is open.
    public func fate(of serial: UInt64) -> SendFate? {
        if serial <= written { return .written }
        return isOver ? .unknown : nil
    }
}
