public import MachineCore

/// Finds how long a connection may be silent before a ping is due, for devices that pay for every ping.
///
/// Radios sleep longer the rarer the pings are, but middleboxes forget a connection that is silent for too long. So the interval grows
/// by half after each `stretch` of stable life, up to `maximum`, and is halved, down to `minimum`, when a connection was lost while idle.
/// Each such loss also doubles the stretch that growing takes, up to an hour or `stretch` if that is more:
/// a middlebox that forgets after a minute costs a few connections, not one every few minutes.
///
/// A dead link is still found within the interval in force and the heartbeat's patience: set each new ``interval`` as the
/// heartbeat's. It outlives connections; a fresh one is also its own configuration.
public struct HeartbeatPacer: Hashable, Sendable {
    /// How long a silence may be from now on; never less than a second.
    public private(set) var interval: Duration
    private let base, minimum, maximum, stretch: Duration
    /// How much stable life the next growth takes.
    private var required: Duration
    /// When the present stretch began; nil while not connected.
    private var stableSince: Moment?

    /// A pacer that has seen no connection.
    ///
    /// - Parameters:
    ///   - base: The first interval, and the one on a new network; kept between the other two.
    ///   - minimum: The shortest interval, at least a second.
    ///   - maximum: The longest interval, at least `minimum`.
    ///   - stretch: How long a connection must live before the interval grows.
    public init(
        base: Duration = .seconds(20), minimum: Duration = .seconds(10), maximum: Duration = .seconds(120),
        stretch: Duration = .seconds(120)
    ) {
        self.minimum = max(minimum, .seconds(1))
        self.maximum = max(maximum, self.minimum)
        self.base = min(max(base, self.minimum), self.maximum)
        self.stretch = max(stretch, .zero)
        (interval, required) = (self.base, self.stretch)
    }

    /// A connection is open: its stable life starts.
    public mutating func opened(at now: Moment) { stableSince = now }

    /// An automatic ping came back, so a silence of this length does no harm: the interval may grow.
    ///
    /// A connection that is never idle proves nothing, and needs no longer interval.
    public mutating func answered(at now: Moment) {
        guard let since = stableSince, now - since >= required else { return }
        interval = min(interval + interval / 2, maximum)
        stableSince = now
    }

    /// The connection is gone.
    ///
    /// - Parameter wasIdle: Whether it was lost in silence: its heartbeat found it dead, or it broke at the first bytes after
    ///   a silence. Any other loss says nothing of the interval.
    public mutating func lost(wasIdle: Bool) {
        // One loss shortens once, and only if there was a connection to lose.
        guard stableSince != nil else { return }
        stableSince = nil
        guard wasIdle else { return }
        interval = max(interval / 2, minimum)
        required = min(required + required, max(stretch, .seconds(3600)))
    }

    /// The device is on another network, with other middleboxes: what was learned is void.
    public mutating func moved() { (interval, required) = (base, stretch) }
}

/// How long a session lets its connections be silent before it asks whether they live.
///
/// What is asked with, and how long an answer may take, is each connection's own configuration.
public struct HeartbeatPolicy: Hashable, Sendable {
    /// What finds the interval; nil: it is not to be found.
    let pacer: HeartbeatPacer?

    /// As long as the configuration of the connection says, always.
    public static let fixed = HeartbeatPolicy(pacer: nil)

    /// Always this long, at least a second.
    ///
    /// It takes the place of what the configuration of the connection says.
    public static func every(_ interval: Duration) -> HeartbeatPolicy { adaptive(base: interval, minimum: interval, maximum: interval) }

    /// An interval that grows while connections are stable, and shrinks when they are lost in silence: see ``HeartbeatPacer``.
    ///
    /// For devices that pay for every ping. It takes the place of what the configuration of the connection says.
    ///
    /// - Parameters:
    ///   - base: The first interval, and the one on a new network; kept between the other two.
    ///   - minimum: The shortest interval, at least a second.
    ///   - maximum: The longest interval, at least `minimum`.
    ///   - stretch: How long a connection must live before the interval grows.
    public static func adaptive(
        base: Duration = .seconds(20), minimum: Duration = .seconds(10), maximum: Duration = .seconds(120),
        stretch: Duration = .seconds(120)
    ) -> HeartbeatPolicy {
        HeartbeatPolicy(pacer: HeartbeatPacer(base: base, minimum: minimum, maximum: maximum, stretch: stretch))
    }
}
