#if SwiftNIO
    package import WebSocketCore
    import WebSocketNIO
    package import WebSocketRuntime

    /// The certificates that a server shows.
    package enum ServerChain {
        /// Its own first, up to the root; verified unless told otherwise.
        ///
        /// TLS is all that is done: no request is sent.
        package static func of(
            _ url: WebSocketURL, tls: TLSOptions, isUnverified: Bool = false, proxy: ProxyChoice = .direct,
            proxyTLS: TLSOptions = TLSOptions(),
            timeouts: WebSocketTimeouts = WebSocketTimeouts()
        ) async throws(WebSocketError) -> [ServerCertificate] {
            var options = ClientOptions(url: url)
            (options.tls, options.connectTimeout, options.handshakeTimeout) = (tls, timeouts.connect, timeouts.handshake)
            (options.proxy, options.proxyTLS) = (try proxy.proxy(for: url), proxyTLS)
            do {
                return try await NIOConnector.chain(of: options, isUnverified: isUnverified)
            } catch {
                throw WebSocketError(error)
            }
        }
    }
#endif
