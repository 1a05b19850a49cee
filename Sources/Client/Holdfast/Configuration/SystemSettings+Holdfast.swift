package import WebSocketApple
import WebSocketCore
package import WebSocketRuntime

extension SystemSettings {
    /// Creates the settings of a connection over the system's WebSocket.
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

extension SystemRequest {
    /// Creates the request for the system's WebSocket.
    ///
    /// - Throws: `invalidURL`; `invalidConfiguration` for headers that cannot be sent, certificate authorities that cannot be read, and
    ///   options that the system does not support.
    package init(_ url: String, _ configuration: WebSocketConfiguration) throws(TransportError) {
        let parsed: WebSocketURL
        do throws(URLProblem) { parsed = try WebSocketURL(url) } catch {
            throw TransportError(.invalidURL, error.description, underlying: error)
        }
        try Self.check(configuration, parsed)
        var headers = configuration.headers
        do throws(HandshakeFailure) {
            var random = SystemRandomNumberGenerator()
            _ = try ClientHandshake(url: parsed, subprotocols: configuration.subprotocols, headers: headers, using: &random)
        } catch {
            throw TransportError(.invalidConfiguration, "\(error)", underlying: error)
        }
        if !configuration.subprotocols.isEmpty {
            headers.add("Sec-WebSocket-Protocol", configuration.subprotocols.joined(separator: ", "))
        }
        let trust = try SystemTrust(
            configuration.tls, host: parsed.host, place: "\(parsed)", path: "URLSession", supporting: SystemTrust.ofURLSession)
        self.init(url: parsed.string, headers: headers, messageLimit: configuration.limits.message, trust: trust)
    }

    private static func check(_ configuration: WebSocketConfiguration, _ url: WebSocketURL) throws(TransportError) {
        if !url.isSecure { try configuration.tls.checkPlain(host: url.host) }
        let missing = [
            "WebSocketConfiguration.proxy": configuration.proxy != .direct, "WebSocketConfiguration.cookies": configuration.cookies != nil,
            "WebSocketConfiguration.redirects": configuration.redirects.limit > 0,
            "WebSocketConfiguration.httpVersion": configuration.httpVersion == .http2, "a Unix domain socket": url.socketPath != nil,
        ]
        .filter(\.value).keys.sorted()
        guard missing.isEmpty else {
            throw TransportError(.invalidConfiguration, "URLSession cannot honour \(missing.joined(separator: ", "))")
        }
    }
}
