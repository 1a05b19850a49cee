#if HTTP2
    package import NIOCore
    package import WebSocketCore

    /// How a server speaks HTTP/2.
    package struct HTTP2ServerOptions: Sendable {
        /// Which versions are spoken.
        package var version: HTTPVersion
        /// Whether SETTINGS_ENABLE_CONNECT_PROTOCOL is announced.
        package var offersWebSockets: Bool
        /// Streams that one connection may have at once.
        package var maximumStreams: Int
        /// How long a connection may be without a stream.
        package var idleTimeout: Duration
        /// What becomes of the request on a new stream; nil: the stream is reset.
        package var welcome: @Sendable (_ stream: any Channel) -> ServerOptions?

        package init(
            version: HTTPVersion, offersWebSockets: Bool, maximumStreams: Int, idleTimeout: Duration,
            welcome: @escaping @Sendable (_ stream: any Channel) -> ServerOptions?
        ) {
            (self.version, self.offersWebSockets) = (version, offersWebSockets)
            (self.maximumStreams, self.idleTimeout, self.welcome) = (maximumStreams, idleTimeout, welcome)
        }
    }
#endif
