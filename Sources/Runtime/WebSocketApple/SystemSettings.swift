package import WebSocketRuntime
package import WebSocketCore

/// What a connection over the system's WebSocket obeys.
package struct SystemSettings: Sendable {
    /// The largest message taken or gathered out of pieces, in bytes.
    package var messageLimit = 1 << 20
    /// Bytes received and not yet taken, above which no more is asked of the system.
    package var receiveBuffer = 256 * 1024
    /// Bytes accepted for sending, above which senders wait.
    package var sendBuffer = 64 * 1024
    /// Whether messages are handed over as such or as one piece each.
    package var delivery = Delivery.messages
    /// What asks in place of a ping.
    package var pingMessage: PingMessage?
    /// From the start to an open connection.
    package var openTimeout = Duration.seconds(20)
    /// For the peer's close frame.
    package var closeTimeout = Duration.seconds(10)
    /// Silence that calls for a ping; nil: none does.
    package var pingInterval: Duration? = .seconds(20)
    /// For a pong.
    package var pingTimeout = Duration.seconds(10)
    /// For the system to take a message.
    package var stallTimeout = Duration.seconds(30)

    package init() {}
}
