#if canImport(Network)
    import Dispatch
    import NIOCore
    import NIOTransportServices
    import Network
    import Security
    import WebSocketRuntime

    /// Opens connections with Network.framework, which handles VPNs, the system's proxy settings, and changes of the radio.
    struct NetworkBootstrap {
        private let group: any EventLoopGroup
        private var bootstrap: NIOTSConnectionBootstrap
        /// The reason why we refused the server; Network.framework only reports that it was refused.
        private let verdict = LockedValue<TransportError?>(nil)

        /// Returns nil for event loops that are not Network.framework's.
        init?(
            _ group: any EventLoopGroup, connectTimeout: Duration, _ initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
        ) {
            guard let bootstrap = NIOTSConnectionBootstrap(validatingGroup: group) else { return nil }
            self.group = group
            self.bootstrap =
                bootstrap
                .connectTimeout(TimeAmount(connectTimeout))
                .channelOption(ChannelOptions.autoRead, value: false)
                // An attempt that cannot succeed now must fail now: the session decides when to try again.
                .channelOption(NIOTSChannelOptions.waitForActivity, value: false)
                .channelInitializer(initializer)
        }

        /// Whether these event loops are Network.framework's.
        static func takes(_ group: any EventLoopGroup) -> Bool { NIOTSConnectionBootstrap(validatingGroup: group) != nil }

        /// Lets the system perform TLS; `trust` verifies the server.
        mutating func secure(with trust: SystemTrust) {
            let tls = NWProtocolTLS.Options()
            let options = tls.securityProtocolOptions
            sec_protocol_options_set_min_tls_protocol_version(options, trust.options.minimumVersion == .tls13 ? .TLSv13 : .TLSv12)
            for name in trust.options.applicationProtocols { sec_protocol_options_add_tls_application_protocol(options, name) }
            if let name = trust.options.serverName { sec_protocol_options_set_tls_server_name(options, name) }
            sec_protocol_options_set_verify_block(
                options,
                { @Sendable [verdict] _, server, complete in
                    let failure = trust.verdict(on: sec_trust_copy_ref(server).takeRetainedValue())
                    verdict.withLockedValue { $0 = failure }
                    complete(failure == nil)
                }, DispatchQueue(label: "holdfast.trust"))
            bootstrap = bootstrap.tlsOptions(tls)
        }

        func connect(host: String, port: Int) -> EventLoopFuture<any Channel> { explained(bootstrap.connect(host: host, port: port)) }

        func connect(socketPath: String) -> EventLoopFuture<any Channel> { bootstrap.connect(unixDomainSocketPath: socketPath) }

        private func explained(_ connected: EventLoopFuture<any Channel>) -> EventLoopFuture<any Channel> {
            connected.flatMapErrorThrowing { [verdict] error in throw verdict.withLockedValue({ $0 }) ?? error }
        }
    }
#endif
