/// What a ``Session`` obeys.
public struct SessionPolicy: Hashable, Sendable {
    /// When to connect again, and when to give up.
    public var reconnect = ReconnectPolicy()
    /// When to ask for fresh credentials.
    public var credentials = CredentialPolicy()
    /// What to do while the app is in the background.
    public var background = BackgroundPolicy.close(after: .seconds(3))
    /// How long a connection may be silent.
    public var heartbeat = HeartbeatPolicy.fixed
    /// What to do about the network.
    public var path = PathPolicy()
    /// What becomes of messages that cannot go out at once.
    public var sending = SendPolicy()

    /// The defaults.
    public init() {}
}
