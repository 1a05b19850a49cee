/// What becomes of events that come while their consumer is busy.
///
/// Each subscriber has a buffer of its own. A slow one holds up nobody: what it misses is told as ``EventGap/dropped(_:)``, in the place
/// of the hole.
public enum EventBuffer: Hashable, Sendable {
    /// Once so many events wait, the oldest gives way.
    case dropOldest(capacity: Int = 1024)
    /// Once so many events wait, those that come are dropped.
    case dropNewest(capacity: Int = 1024)
    /// Once so many events wait, the stream fails with ``WAMPError/Code/overrun`` behind them.
    case fail(capacity: Int = 1024)
}
