/// What happens to events that a consumer has not taken yet, while it is busy and others read on.
///
/// Each consumer of ``WebSocket/events(buffering:)`` has a buffer of its own. What it dropped it is told as ``WebSocketEvent/missed(_:)``,
/// in the place of the hole; ``WebSocketEvent/closed(_:)`` is never dropped.
public enum EventBuffering: Hashable, Sendable {
    /// Nothing is lost: while so many events wait, nobody reads, and in the end the peer has to wait.
    case suspend(capacity: Int = 64)
    /// Reading goes on; once so many events wait, the oldest gives way.
    case dropOldest(capacity: Int)
    /// Reading goes on; only the newest event waits.
    case latest

    /// How many events may wait, at least 1.
    var capacity: Int {
        switch self {
        case .suspend(let capacity), .dropOldest(let capacity): max(capacity, 1)
        case .latest: 1
        }
    }

    /// Whether reading goes on while the buffer is full.
    var isLossy: Bool { if case .suspend = self { false } else { true } }
}
