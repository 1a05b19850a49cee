import MachineCore

/// A place in a room's log.
///
/// Its two parts are one value: a number means nothing in another epoch.
public struct LogPosition: Hashable, Sendable, CustomStringConvertible {
    /// The incarnation of the log; 0 of nothing.
    public var epoch: UInt64
    /// The number of the entry, from 1; 0 before the first.
    public var seq: Int64

    /// A place in the log.
    public init(epoch: UInt64, seq: Int64) { (self.epoch, self.seq) = (epoch, seq) }

    /// The cursor of one who has nothing.
    public static let nowhere = LogPosition(epoch: 0, seq: 0)

    /// For logs: `58@0f3a…`.
    public var description: String { "\(seq)@\(Hexadecimal.digits(epoch))" }
}
