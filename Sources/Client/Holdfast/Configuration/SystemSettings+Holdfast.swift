package import WebSocketApple

extension SystemSettings {
    /// What of a configuration concerns a connection over the system's WebSocket.
    package init(_ configuration: WebSocketConfiguration) {
        self.init()
        messageLimit = configuration.limits.message
        receiveBuffer = configuration.limits.receiveBuffer
        sendBuffer = configuration.limits.sendBuffer
        delivery = configuration.delivery
        pingMessage = configuration.pingMessage
        openTimeout = configuration.timeouts.connect + configuration.timeouts.handshake
        closeTimeout = configuration.timeouts.close
        pingInterval = configuration.timeouts.pingInterval
        pingTimeout = configuration.timeouts.ping
        stallTimeout = configuration.timeouts.stall
    }
}
