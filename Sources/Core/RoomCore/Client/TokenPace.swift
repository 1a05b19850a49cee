import MachineCore

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
    /// The token of this connection ends then by the hub's clock, or never if that is 0.
    mutating func planToken(before expires: Int64, at now: Moment) {
        guard expires > 0, let margin = policy.tokenMargin else { return }
        let time = clock.now(at: now) ?? expires
        let left = Duration.milliseconds(max(0, min(expires, RoomsLimits.number) - time))
        let moment = now + link.tokenPace.pause(until: expires, left: left, margin: margin)
        link.tokenAt = moment
        remind(at: moment)
    }
}
