#if SwiftNIO
    package import WebSocketCore
    import WebSocketNIO
    package import WebSocketRuntime

    /// The certificates that a server presents.
    package enum ServerChain {
        /// Returns the chain, the server's own certificate first, up to the root; verifies it unless told otherwise.
        ///
        /// It performs only the TLS handshake and sends no request.
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
