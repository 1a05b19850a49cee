/// How long one connection waits for what.
public struct WebSocketTimeouts: Hashable, Sendable {
    /// For the name to resolve and TCP to connect, to the proxy if there is one.
    public var connect: Duration = .seconds(10)
    /// For TLS and the upgrade, from the TCP connection on; before that, a proxy has the same time to open the way.
    public var handshake: Duration = .seconds(10)
    /// For the peer to answer our close frame.
    public var close: Duration = .seconds(10)
    /// For a pong, from the moment the ping left.
    public var ping: Duration = .seconds(10)
    /// Silence after which a ping is sent by itself; nil: never, so that a dead link may go unnoticed for long.
    public var pingInterval: Duration? = .seconds(20)
    /// For a peer that takes nothing of what we send.
    public var stall: Duration = .seconds(30)

    /// The defaults.
    public init() {}
}
