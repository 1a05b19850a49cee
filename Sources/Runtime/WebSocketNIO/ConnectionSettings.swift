package import WebSocketCore
package import WebSocketRuntime

/// What one connection obeys after the handshake; the same for both roles.
package struct ConnectionSettings: Sendable {
    /// Which end we are.
    package var role: Role
    /// The largest frame, message and number of fragments taken.
    package var limits = MessageLimits()
    /// Whether messages are handed over whole or in pieces.
    package var delivery = Delivery.messages
    /// How to compress; nil: not at all.
    package var compression: CompressionOptions?
    /// Bytes of received messages that may wait for the app.
    package var receiveBuffer = 256 * 1024
    /// Bytes of messages that may wait for the socket.
    package var sendBuffer = 64 * 1024
    /// How long the close handshake may take.
    package var closeTimeout: Duration = .seconds(10)
    /// Silence after which a ping is sent; nil: never.
    package var pingInterval: Duration? = .seconds(20)
    /// What asks in place of a ping; nil: a ping does.
    package var pingMessage: PingMessage?
    /// How long a pong may take.
    package var pingTimeout: Duration = .seconds(10)
    /// How long the peer may take nothing of what we send; nil: for ever.
    package var stallTimeout: Duration? = .seconds(30)

    /// The defaults for a role.
    package init(role: Role) { self.role = role }
}
