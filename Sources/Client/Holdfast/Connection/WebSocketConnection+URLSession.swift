#if canImport(Darwin)
    import WebSocketApple
    import WebSocketRuntime

    extension WebSocketConnection {
        /// Connects through the system's `URLSessionWebSocketTask`, where company policy or the network requires it.
        ///
        /// It cannot compress, send a message in pieces without collecting them first, keep the body of a refusal, or follow redirects. It
        /// uses the proxies of the system settings. For a ``WebSocket`` call it in the closure of
        /// ``WebSocket/init(_:seed:clock:connect:)``.
        ///
        /// - Parameters:
        ///   - url: `ws://host:port/path?query` or `wss://…`.
        ///   - configuration: The options of the connection; of the limits only message, receive buffer and send buffer have an effect.
        /// - Throws: ``WebSocketError`` as ``connect(to:configuration:)-(String,_)`` does; ``TransportError/Code/invalidConfiguration`` for
        ///   ``TLSOptions/identity``, ``TLSOptions/serverName`` and ``TLSOptions/applicationProtocols``, for a proxy of our own,
        ///   ``WebSocketConfiguration/redirects``, ``WebSocketConfiguration/cookies`` and ``HTTPVersion/http2``.
        public static func connectOverURLSession(
            to url: String, configuration: WebSocketConfiguration = WebSocketConfiguration()
        ) async throws(WebSocketError) -> WebSocketConnection {
            try await WebSocketError.wrap { () async throws(TransportError) in
                let socket = URLSessionSocket(try SystemRequest(url, configuration))
                let transport = try await URLSessionTransport.open(socket, SystemSettings(configuration))
                try configuration.check(transport.agreement, aborting: transport)
                return WebSocketConnection(transport, pingTimeout: configuration.timeouts.ping)
            }
        }
    }
#endif
