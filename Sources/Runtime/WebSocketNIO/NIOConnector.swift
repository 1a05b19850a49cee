package import NIOCore
import NIOPosix
import NIOSSL
import WebSocketCore
package import WebSocketRuntime

#if !SwiftNIO
    #error("servers and connections over SwiftNIO need its trait, which is a default: .package(url: \"…\", traits: [.defaults])")
#endif

#if canImport(Network)
    import NIOTransportServices
    import Network
#endif

/// Opens WebSockets over TCP and TLS.
package enum NIOConnector {
    /// Connects, performs the handshake, and returns an open WebSocket.
    ///
    /// Cancellation ends the attempt at once; a connection that is established too late is dropped.
    package static func connect(
        _ options: ClientOptions, on group: any EventLoopGroup = defaultGroup
    ) async throws(TransportError) -> WebSocketChannel {
        let handshake: ClientHandshake
        do throws(HandshakeFailure) {
            var random = SystemRandomNumberGenerator()
            handshake = try ClientHandshake(
                url: options.url, subprotocols: options.subprotocols, deflate: options.connection.compression?.preferences,
                headers: options.headers, using: &random)
        } catch {
            throw TransportError(.invalidConfiguration, "\(error)", underlying: error)
        }
        try check(group)
        if !options.url.isSecure { try options.tls.checkPlain(host: options.url.host) }
        // Without this check, a connection on the same machine might be established before the cancellation is noticed.
        guard !Task.isCancelled else { throw TransportError(cancelledAt: options.url) }
        #if HTTP2
            if options.httpVersion == .http2 || (options.httpVersion == .automatic && options.url.isSecure) {
                return try await connectOverHTTP2(handshake, options, on: group)
            }
        #else
            if options.httpVersion == .http2 {
                throw TransportError(.invalidConfiguration, "Holdfast was built without its trait HTTP2")
            }
        #endif
        let trust = try systemTrust(options, on: group)
        let opened = group.next().makePromise(of: WebSocketChannel.self)
        try open(options, on: group, trust: trust, for: opened) { ClientHandshakeHandler(handshake, options: options, opened: opened) }
        return try await result(of: opened.futureResult, else: options) { opened.fail($0) }
    }

    /// Opens a connection, through the proxy if there is one, with TLS for a secure URL unless the system performs it.
    ///
    /// The last handler completes the promise. The promise fails if an earlier step fails, and its failure ends the connection.
    static func open<Value>(
        _ options: ClientOptions, on group: any EventLoopGroup, trust: SystemTrust? = nil, isInspection: Bool = false,
        for promise: EventLoopPromise<Value>, _ last: @escaping @Sendable () -> any ChannelHandler
    ) throws(TransportError) {
        let url = options.url
        let isOwnTLS = url.isSecure && trust == nil
        let stage: ProxyStage?
        let tls: ClientTLS?
        do throws(TransportError) {
            tls = isOwnTLS ? try ClientTLS(options.tls, host: url.host, place: "\(url)", isInspection: isInspection) : nil
            stage = try options.proxy.map { proxy throws(TransportError) in try ProxyStage(proxy, options) }
        } catch {
            // Nobody waits for it, but every promise must be completed.
            promise.fail(error)
            throw error
        }
        open(options, on: group, trust: trust) { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                try stage?.add(to: pipeline) { promise.fail($0) }
                try tls?.install(on: pipeline)
                try pipeline.addHandler(last())
            }
        }
        .whenComplete { result in
            switch result {
            // The attempt may have been given up meanwhile: then nobody waits for this channel.
            case .success(let channel): promise.futureResult.whenFailure { _ in channel.close(promise: nil) }
            case .failure(let error): promise.fail(stage?.failure(connecting: error) ?? TransportError(connecting: error, to: url))
            }
        }
    }

    /// Waits for a result; cancellation of the task ends the wait with an error.
    static func result<Value: Sendable>(
        of future: EventLoopFuture<Value>, else options: ClientOptions, onCancel: (@Sendable (TransportError) -> Void)? = nil
    ) async throws(TransportError) -> Value {
        // A result that others wait for as well must not be cancelled.
        let own = future.eventLoop.makePromise(of: Value.self)
        future.cascade(to: own)
        do {
            return try await withTaskCancellationHandler {
                try await own.futureResult.get()
            } onCancel: {
                let error = TransportError(cancelledAt: options.url)
                onCancel?(error)
                own.fail(error)
            }
        } catch {
            throw error as? TransportError ?? TransportError(.lost, "\(error)", underlying: error)
        }
    }

    /// Connects, and follows redirects according to the policy; each attempt has the full timeouts of a first connection.
    package static func connectFollowing(_ options: ClientOptions) async throws(TransportError) -> WebSocketChannel {
        var (options, followed) = (options, 0)
        while true {
            do throws(TransportError) {
                let channel = try await connect(options.withCookies, on: options.group ?? defaultGroup)
                options.keepCookies(of: channel.agreement.response)
                return channel
            } catch {
                if error.code == .refused, let response = error.response { options.keepCookies(of: response) }
                guard let redirect = try options.redirect(after: error, followed: followed) else { throw error }
                try options.follow(redirect)
                followed += 1
            }
        }
    }
}

extension TransportError {
    init(cancelledAt url: WebSocketURL) { self.init(.cancelled, "connecting to \(url) was cancelled") }
}

extension ClientOptions {
    /// The header fields that contain nothing secret, so that a server on another origin may see them.
    private static let publicFields: Set = ["accept-language", "origin", "user-agent"]

    fileprivate func redirect(after error: TransportError, followed: Int) throws(TransportError) -> Redirect? {
        guard error.code == .refused, let response = error.response else { return nil }
        do throws(RedirectProblem) {
            return try redirects.next(after: response, from: url, followed: followed)
        } catch {
            var failure = TransportError(.refused, "\(url) answered \(response), which is not followed: \(error)", underlying: error)
            failure.response = response
            throw failure
        }
    }

    fileprivate mutating func follow(_ redirect: Redirect) throws(TransportError) {
        if redirect.leavesOrigin { tls.leaveOrigin(staysOnHost: redirect.url.host == url.host) }
        url = redirect.url
        // Another host may be reached directly, or not at all, and wss may have its own proxy.
        if let proxyAfterRedirect { proxy = try proxyAfterRedirect(url) }
        guard redirect.leavesOrigin else { return }
        // The app alone knows which fields are credentials, so only fields known to be harmless are sent.
        headers = headers.keeping(Self.publicFields)
        subprotocols = publicSubprotocols
    }
}

extension NIOConnector {
    typealias Initializer = @Sendable (any Channel) -> EventLoopFuture<Void>

    #if canImport(Network)
        static var defaultGroup: any EventLoopGroup { NIOTSEventLoopGroup.singleton }

        /// Returns the system's trust evaluation if the system performs TLS; nil if NIOSSL does.
        ///
        /// The system performs TLS only on its own event loops, for options that it supports, and without a proxy, because its TLS begins
        /// with the connection.
        static func systemTrust(_ options: ClientOptions, on group: any EventLoopGroup) throws(TransportError) -> SystemTrust? {
            guard options.url.isSecure, options.proxy == nil, NetworkBootstrap.takes(group),
                options.tls.features.isSubset(of: SystemTrust.ofNetwork)
            else { return nil }
            return try SystemTrust(
                options.tls, host: options.url.host, place: "\(options.url)", path: "Network.framework", supporting: SystemTrust.ofNetwork)
        }

        /// Opens a connection; with `trust` the system performs TLS.
        static func open(
            _ options: ClientOptions, on group: any EventLoopGroup, trust: SystemTrust? = nil, _ initializer: @escaping Initializer
        ) -> EventLoopFuture<any Channel> {
            guard var bootstrap = NetworkBootstrap(group, connectTimeout: options.connectTimeout, initializer) else {
                return openPosix(options, on: group, initializer)
            }
            if let trust { bootstrap.secure(with: trust) }
            return switch options.destination {
            case .host(let host, let port): bootstrap.connect(host: host, port: port)
            case .socket(let path): bootstrap.connect(socketPath: path)
            }
        }
    #else
        static var defaultGroup: any EventLoopGroup { MultiThreadedEventLoopGroup.singleton }

        /// Returns the system's trust evaluation if the system performs TLS; here NIOSSL always does.
        static func systemTrust(_ options: ClientOptions, on group: any EventLoopGroup) throws(TransportError) -> SystemTrust? { nil }

        static func open(
            _ options: ClientOptions, on group: any EventLoopGroup, trust: SystemTrust? = nil, _ initializer: @escaping Initializer
        ) -> EventLoopFuture<any Channel> {
            openPosix(options, on: group, initializer)
        }
    #endif

    /// Throws for event loops that cannot open connections.
    static func check(_ group: any EventLoopGroup) throws(TransportError) {
        #if canImport(Network)
            if NetworkBootstrap.takes(group) { return }
        #endif
        guard ClientBootstrap(validatingGroup: group) == nil else { return }
        throw TransportError(.invalidConfiguration, "the event loops of a \(type(of: group)) cannot open connections")
    }

    private static func openPosix(
        _ options: ClientOptions, on group: any EventLoopGroup, _ initializer: @escaping Initializer
    ) -> EventLoopFuture<any Channel> {
        let loop = group.next()
        let bootstrap = ClientBootstrap(group: loop)
            .connectTimeout(TimeAmount(options.connectTimeout))
            .resolver(options.resolver?(loop))
            .channelOption(.autoRead, value: false)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer(initializer)
        return switch options.destination {
        case .host(let host, let port): bootstrap.connect(host: host, port: port)
        case .socket(let path): bootstrap.connect(unixDomainSocketPath: path)
        }
    }
}

extension TransportError {
    /// Converts an error while connecting.
    init(connecting error: any Error, to url: WebSocketURL) {
        switch error {
        case let error as TransportError: self = error
        case let error as NIOConnectionError:
            if let lookup = error.dnsAError ?? error.dnsAAAAError, error.connectionErrors.isEmpty {
                self.init(.unresolved, "the host \(url.host) could not be found: \(lookup)", underlying: error)
            } else if error.connectionErrors.contains(where: { $0.error is ChannelError }) {
                self.init(.timedOut, "\(url) did not answer in time", underlying: error)
            } else {
                let cause = error.connectionErrors.last.map { Self.words($0.error) } ?? "\(error)"
                self.init(.unreachable, "could not connect to \(url): \(cause)", underlying: error)
            }
        case ChannelError.connectTimeout(let limit):
            self.init(.timedOut, "\(url) did not answer within \(limit.nanoseconds / 1_000_000) ms", underlying: error)
        #if canImport(Network)
            case NWError.tls: self.init(.tls, "TLS with \(url) failed: \(error)", underlying: error)
            case NWError.dns: self.init(.unresolved, "the host \(url.host) could not be found: \(error)", underlying: error)
        #endif
        case is NIOSSLExtraError:
            self.init(.invalidConfiguration, "TLS cannot be set up for \(url): \(error)", underlying: error)
        default:
            self.init(.unreachable, "could not connect to \(url): \(Self.words(error))", underlying: error)
        }
    }

    /// Converts an error between the connection and the end of the handshake.
    init(handshaking error: any Error, with url: WebSocketURL) {
        switch error {
        case let error as TransportError: self = error
        // The peer closed the connection: TLS reports it first, and the certificate is not the reason.
        case NIOSSLError.uncleanShutdown, NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake])):
            self.init(.lost, "\(url) hung up during the handshake", underlying: error)
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            self.init(.tls, "TLS with \(url) failed: \(error)", underlying: error)
        default:
            self.init(.lost, "the link to \(url) failed during the handshake: \(Self.words(error))", underlying: error)
        }
    }

    /// The text of a system error, without the name of the failed call.
    static func words(_ error: any Error) -> String {
        guard let error = error as? IOError else { return "\(error)" }
        return String(cString: strerror(error.errnoCode)).lowercased()
    }
}
