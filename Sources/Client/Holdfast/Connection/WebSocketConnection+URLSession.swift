#if canImport(Darwin)
    import WebSocketApple
    import WebSocketRuntime

    extension WebSocketConnection {
        /// Connects through the system's own `URLSessionWebSocketTask`, where rules of a company or the network ask for it.
        ///
        /// What it cannot do: compress, send a message in pieces without gathering it, keep the body of a refusal, follow redirects. It
        /// takes the proxies of the system's settings. For a ``WebSocket`` call it in the closure of
        /// ``WebSocket/init(_:seed:clock:connect:)``.
        ///
        /// - Parameters:
        ///   - url: `ws://host:port/path?query` or `wss://…`.
        ///   - configuration: What the connection obeys; of the limits: message, receive and send buffer.
        /// - Throws: ``WebSocketError`` as ``connect(to:configuration:)-(String,_)`` does; ``TransportError/Code/invalidConfiguration`` for
        ///   ``TLSOptions/identity``, ``TLSOptions/serverName`` and ``TLSOptions/applicationProtocols``, for a proxy of our own,
        ///   ``WebSocketConfiguration/redirects``, ``WebSocketConfiguration/cookies`` and ``HTTPVersion/http2``.
        public static func connectOverURLSession(
            to url: String, configuration: WebSocketConfiguration = WebSocketConfiguration()
        ) async throws(WebSocketError) -> WebSocketConnection {
            try await WebSocketError.wrap { () async throws(TransportError) in
                let socket = URLSessionSocket(try SystemRequest(url, configuration))
                let transport = try await URLSessionTransport.open(socket, SystemSettings(configuration))
                return WebSocketConnection(transport, pingTimeout: configuration.timeouts.ping)
            }
        }
    }
#endif
