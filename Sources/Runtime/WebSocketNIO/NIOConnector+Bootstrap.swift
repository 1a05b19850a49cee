import NIOCore
import NIOPosix
import WebSocketCore
import WebSocketRuntime

#if canImport(Network)
    import NIOTransportServices
#endif

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
