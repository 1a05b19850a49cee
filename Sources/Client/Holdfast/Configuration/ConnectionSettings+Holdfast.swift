package import WebSocketCore
package import WebSocketNIO
package import WebSocketRuntime

extension ConnectionSettings {
    /// What a client's and a server's configuration have in common.
    package init(
        role: Role, limits: WebSocketLimits, timeouts: WebSocketTimeouts, compression: CompressionOptions?, delivery: Delivery
    ) {
        self.init(role: role)
        self.limits = limits.messageLimits
        self.delivery = delivery
        self.compression = compression
        receiveBuffer = limits.receiveBuffer
        sendBuffer = limits.sendBuffer
        closeTimeout = timeouts.close
        pingInterval = timeouts.pingInterval
        pingTimeout = timeouts.ping
        stallTimeout = timeouts.stall
    }
}

extension ClientOptions {
    init(url: WebSocketURL, configuration: WebSocketConfiguration) {
        self.init(url: url)
        headers = configuration.headers
        subprotocols = configuration.subprotocols
        headLimit = configuration.limits.head
        refusalBodyLimit = configuration.limits.refusalBody
        connectTimeout = configuration.timeouts.connect
        handshakeTimeout = configuration.timeouts.handshake
        tls = configuration.tls
        connection = ConnectionSettings(
            role: .client, limits: configuration.limits, timeouts: configuration.timeouts, compression: configuration.compression,
            delivery: configuration.delivery)
    }
}
