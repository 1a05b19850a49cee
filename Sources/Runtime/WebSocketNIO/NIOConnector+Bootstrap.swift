import NIOCore
import NIOPosix
import WebSocketCore
import WebSocketRuntime

#if canImport(Network)
    import Network
    import NIOTransportServices
#endif

extension NIOConnector {
    typealias Initializer = @Sendable (any Channel) -> EventLoopFuture<Void>

    #if canImport(Network)
        /// Network.framework: it knows VPNs, proxies, and the radio's moods.
        static var defaultGroup: any EventLoopGroup { NIOTSEventLoopGroup.singleton }

        /// Whether the system does TLS: only on its own event loops, and it is asked for nothing but the defaults.
        static func isSystemTLS(_ options: ClientOptions, on group: any EventLoopGroup) -> Bool {
            options.tls.features.isEmpty && options.proxy == nil && NIOTSConnectionBootstrap(validatingGroup: group) != nil
        }

        static func open(_ options: ClientOptions, on group: any EventLoopGroup, _ initializer: @escaping Initializer) -> EventLoopFuture<
            any Channel
        > {
            guard let bootstrap = NIOTSConnectionBootstrap(validatingGroup: group) else {
                return openPosix(options, on: group, initializer)
            }
            var configured =
                bootstrap
                .connectTimeout(TimeAmount(options.connectTimeout))
                .channelOption(ChannelOptions.autoRead, value: false)
                // An attempt that cannot succeed now fails now: when to try again is the session's to decide.
                .channelOption(NIOTSChannelOptions.waitForActivity, value: false)
                .channelInitializer(initializer)
            if options.url.isSecure, isSystemTLS(options, on: group) {
                let tls = NWProtocolTLS.Options()
                sec_protocol_options_add_tls_application_protocol(tls.securityProtocolOptions, "http/1.1")
                configured = configured.tlsOptions(tls)
            }
            return switch options.destination {
            case .host(let host, let port): configured.connect(host: host, port: port)
            case .socket(let path): configured.connect(unixDomainSocketPath: path)
            }
        }
    #else
        static var defaultGroup: any EventLoopGroup { MultiThreadedEventLoopGroup.singleton }

        /// Whether the system does TLS; here NIOSSL always does.
        static func isSystemTLS(_ options: ClientOptions, on group: any EventLoopGroup) -> Bool { false }

        static func open(_ options: ClientOptions, on group: any EventLoopGroup, _ initializer: @escaping Initializer) -> EventLoopFuture<
            any Channel
        > {
            openPosix(options, on: group, initializer)
        }
    #endif

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
