package import MachineCore

/// Finds how long a connection may be silent before a ping is needed, for devices where every ping costs energy.
///
/// Radios sleep longer if pings are rare, but middleboxes drop a connection that is silent for too long. The interval grows by half after
/// each `stretch` of stable connection, up to `maximum`. It is halved, down to `minimum`, when a connection is lost while idle. Each such
/// loss also doubles the stretch that the next growth needs, up to an hour or `stretch`, whichever is longer. A middlebox with a timeout of
/// one minute therefore costs a few connections, not one every few minutes.
///
/// A dead link is still found within the current interval plus the heartbeat's patience: apply each new ``interval`` to the heartbeat. A
/// pacer survives reconnects. A new pacer also serves as a configuration.
package struct HeartbeatPacer: Hashable, Sendable {
    /// The longest silence from now on; never less than a second.
    package private(set) var interval: Duration
    private let base, minimum, maximum, stretch: Duration
    /// The stable time that the next growth needs.
    private var required: Duration
    /// When the present stretch began; nil while not connected.
    private var stableSince: Moment?

    /// Creates a pacer that has seen no connection.
    ///
    /// - Parameters:
    ///   - base: The first interval, also used on a new network; limited to `minimum`...`maximum`.
    ///   - minimum: The shortest interval, at least a second.
    ///   - maximum: The longest interval, at least `minimum`.
    ///   - stretch: How long a connection must last before the interval grows.
    package init(
        base: Duration = .seconds(20), minimum: Duration = .seconds(10), maximum: Duration = .seconds(120),
        stretch: Duration = .seconds(120)
    ) {
        self.minimum = max(minimum, .seconds(1))
        self.maximum = max(maximum, self.minimum)
        self.base = min(max(base, self.minimum), self.maximum)
        self.stretch = max(stretch, .zero)
        (interval, required) = (self.base, self.stretch)
    }

    /// Notes that a connection is open: its stable time starts.
    package mutating func opened(at now: Moment) { stableSince = now }

    /// Notes that an automatic ping was answered, so a silence of this length is safe and the interval may grow.
    ///
    /// A connection that is never idle gives no information, and needs no longer interval.
    package mutating func answered(at now: Moment) {
        guard let since = stableSince, now - since >= required else { return }
        interval = min(interval + interval / 2, maximum)
        stableSince = now
    }

    /// Notes that the connection is gone.
    ///
    /// - Parameter wasIdle: Whether it was lost during silence: the heartbeat found it dead, or it broke at the first bytes after a
    ///   silence. Any other loss gives no information about the interval.
    package mutating func lost(wasIdle: Bool) {
        // One loss shortens the interval once, and only if there was a connection.
        guard stableSince != nil else { return }
        stableSince = nil
        guard wasIdle else { return }
        interval = max(interval / 2, minimum)
        required = min(required + required, max(stretch, .seconds(3600)))
    }

    /// Notes that the device is on another network with other middleboxes: resets what was learned.
    package mutating func moved() { (interval, required) = (base, stretch) }
}

/// How long a session lets its connections be silent before it sends a ping.
///
/// The configuration of each connection determines the kind of ping and the time limit for the answer.
public struct HeartbeatPolicy: Hashable, Sendable {
    /// The pacer; nil if the interval is fixed by the connection's configuration.
    let pacer: HeartbeatPacer?

    /// The interval of the connection's configuration, unchanged.
    public static let fixed = HeartbeatPolicy(pacer: nil)

    /// A fixed interval of this length, at least a second.
    ///
    /// It replaces the interval of the connection's configuration.
    public static func every(_ interval: Duration) -> HeartbeatPolicy { adaptive(base: interval, minimum: interval, maximum: interval) }

    /// An interval that grows while connections are stable and shrinks when they are lost during silence: see `HeartbeatPacer`.
    ///
    /// For devices where every ping costs energy. It replaces the interval of the connection's configuration.
    ///
    /// - Parameters:
    ///   - base: The first interval, also used on a new network; limited to `minimum`...`maximum`.
    ///   - minimum: The shortest interval, at least a second.
    ///   - maximum: The longest interval, at least `minimum`.
    ///   - stretch: How long a connection must last before the interval grows.
    public static func adaptive(
        base: Duration = .seconds(20), minimum: Duration = .seconds(10), maximum: Duration = .seconds(120),
        stretch: Duration = .seconds(120)
    ) -> HeartbeatPolicy {
        HeartbeatPolicy(pacer: HeartbeatPacer(base: base, minimum: minimum, maximum: maximum, stretch: stretch))
    }
}
