#if SwiftNIO
    package import WebSocketCore
    package import WebSocketNIO
    package import WebSocketRuntime

    extension ConnectionSettings {
        /// Creates the settings that the configurations of clients and servers have in common.
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
        /// Creates the options; throws `invalidURL`, or `invalidConfiguration` for a proxy that cannot be used.
        package init(_ url: String, _ configuration: WebSocketConfiguration) throws(WebSocketError) {
            do throws(URLProblem) {
                self.init(url: try WebSocketURL(url))
            } catch {
                throw WebSocketError(TransportError(.invalidURL, error.description, underlying: error))
            }
            headers = configuration.headers
            subprotocols = configuration.subprotocols
            httpVersion = configuration.httpVersion
            headLimit = configuration.limits.head
            refusalBodyLimit = configuration.limits.refusalBody
            connectTimeout = configuration.timeouts.connect
            handshakeTimeout = configuration.timeouts.handshake
            tls = configuration.tls
            (proxy, proxyTLS) = (try configuration.proxy.proxy(for: self.url), configuration.proxyTLS)
            proxyAfterRedirect = { [choice = configuration.proxy] url throws(TransportError) in
                do throws(WebSocketError) { return try choice.proxy(for: url) } catch { throw error.transport }
            }
            (redirects, publicSubprotocols) = (configuration.redirects, subprotocols.filter(configuration.publicSubprotocols.contains))
            if configuration.redirectsStayInOrigin { redirects.staysInOrigin = true }
            cookies = configuration.cookies
            connection = ConnectionSettings(
                role: .client, limits: configuration.limits, timeouts: configuration.timeouts, compression: configuration.compression,
                delivery: configuration.delivery)
            group = configuration.eventLoopGroup
            connection.pingMessage = configuration.pingMessage
        }

        /// The secrets in the request, which a server or a proxy may repeat in its answer.
        var secrets: KnownSecrets {
            let cookies = cookies?.jar.cookies.map(\.value) ?? []
            return KnownSecrets(KnownSecrets.carried(by: url, headers, subprotocols, proxy) + cookies)
        }
    }
#endif
