package import MachineCore

/// When a token is replaced on its connection: ahead of its end, and never again and again at once.
///
/// A provider may give the same token again, or one that has ended.
package struct TokenPace: Hashable, Sendable {
    private var latestEnd: Int64 = 0
    /// Tokens in a row that ended no later than one before.
    private var idle = 0

    /// A new connection.
    package init() {}

    /// How long to wait before a fresh token is asked for.
    ///
    /// - Parameters:
    ///   - expires: When the present one ends, by the hub's clock.
    ///   - left: How long that is from now.
    ///   - margin: How long before the end a token is to be replaced.
    package mutating func pause(until expires: Int64, left: Duration, margin: Duration) -> Duration {
        idle = expires > latestEnd ? 0 : min(idle + 1, 6)
        latestEnd = max(latestEnd, expires)
        return max(left - margin, left / 2, Backoff(base: .seconds(1), cap: .seconds(60)).ceiling(attempt: idle + 1))
    }
}

extension RoomsMachine {
    /// How long it is until then by the hub's clock, or by the calendar until the hub's is known.
    package func timeLeft(until milliseconds: Int64, at now: Moment) -> Duration {
        let time = clock.now(at: now) ?? milliseconds
        return .milliseconds(max(0, min(milliseconds, RoomsLimits.number) - time))
    }
}
