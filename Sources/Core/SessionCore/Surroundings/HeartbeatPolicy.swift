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
