import MachineCore

/// Decides when to replace a token on a connection: before it expires, and with a minimum pause between attempts.
///
/// A provider may return the same token again, or an expired one.
package struct TokenPace: Hashable, Sendable {
    private var latestEnd: Int64 = 0
    /// The number of tokens in a row that expired no later than an earlier one.
    private var idle = 0

    /// Creates the pace for a new connection.
    package init() {}

    /// Returns how long to wait before the client asks for a fresh token.
    ///
    /// - Parameters:
    ///   - expires: When the current token expires, by the hub's clock.
    ///   - left: The time from now until then.
    ///   - margin: How long before the expiry a token is to be replaced.
    package mutating func pause(until expires: Int64, left: Duration, margin: Duration) -> Duration {
        idle = expires > latestEnd ? 0 : min(idle + 1, 6)
        latestEnd = max(latestEnd, expires)
        return max(left - margin, left / 2, Backoff(base: .seconds(1), cap: .seconds(60)).ceiling(attempt: idle + 1))
    }
}

extension RoomsMachine {
    /// Plans the replacement of a token that expires at this time by the hub's clock; 0: never.
    mutating func planToken(before expires: Int64, at now: Moment) {
        guard expires > 0, let margin = policy.tokenMargin else { return }
        let time = clock.now(at: now) ?? expires
        let left = Duration.milliseconds(max(0, min(expires, RoomsLimits.number) - time))
        let moment = now + link.tokenPace.pause(until: expires, left: left, margin: margin)
        link.tokenAt = moment
        remind(at: moment)
    }
}
