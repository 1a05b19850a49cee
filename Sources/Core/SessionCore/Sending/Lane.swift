/// Which of the waiting messages go first: a higher lane before a lower one, and each lane in its own order.
///
/// A message overtakes only while it waits: nothing interrupts one that the connection has taken.
public enum Lane: CaseIterable, Comparable, Hashable, Sendable {
    /// Goes when nothing else waits, such as an upload in pieces; the first to give way where there is no room.
    case bulk
    /// Everything without a reason to be otherwise.
    case normal
    /// Goes before all else, such as a cancellation or an acknowledgement.
    case urgent
}
