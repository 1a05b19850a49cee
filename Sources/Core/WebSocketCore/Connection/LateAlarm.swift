public import MachineCore

/// What to do with an alarm that rings late, because its event loop was busy.
///
/// The peer's answer may lie unread in the socket by then. So the alarm is put off once, for a turn of reading, before anybody takes
/// silence for death.
public struct LateAlarm: Hashable, Sendable {
    /// How late an alarm may ring without being late.
    public static let tolerance = Duration.milliseconds(500)
    /// For how long one is put off: a loop reads before it looks at its alarms again.
    public static let respite = Duration.milliseconds(20)

    private var isPutOff = false

    /// Nothing was late yet.
    public init() {}

    /// An alarm rings: when it is to ring again, if it is put off.
    public mutating func rings(due: Moment?, at now: Moment) -> Moment? {
        isPutOff = due.map { now - $0 > Self.tolerance } ?? false && !isPutOff
        return isPutOff ? now + Self.respite : nil
    }
}
