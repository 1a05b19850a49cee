#if HTTP2
    import NIOCore
    import WebSocketCore
    import WebSocketRuntime

    /// All that two WebSockets must have in common to share a TCP connection.
    struct HTTP2Place: Hashable {
        private struct Checks: Hashable {
            let trust: TLSOptions.Trust
            let additionalRoots: [PEMSource]
            let pins: [PinSet]
            let identity: ClientIdentity.Form?
            let passphrase: String?
            let minimumVersion: TLSOptions.Version
            let applicationProtocols: [String]
            let serverName: String?
            let isInsecure: Bool

            init(_ tls: TLSOptions) {
                (trust, additionalRoots, pins, minimumVersion) = (tls.trust, tls.additionalRoots, tls.pins, tls.minimumVersion)
                (identity, passphrase) = (tls.identity?.form, tls.identity?.passphrase)
                (applicationProtocols, serverName, isInsecure) = (tls.applicationProtocols, tls.serverName, tls.isInsecure)
            }
        }

        private let isSecure: Bool
        private let host: String
        private let port: Int
        private let socketPath: String?
        private let proxy: Proxy?
        private let tls, proxyTLS: Checks
        private let group: ObjectIdentifier
        let window: Int
        /// Set for those that share with nobody.
        private let number: UInt64?

        init(_ options: ClientOptions, _ group: any EventLoopGroup) {
            (isSecure, host, port) = (options.url.isSecure, options.url.host, options.url.port)
            (socketPath, proxy) = (options.url.socketPath, options.proxy)
            (tls, proxyTLS, self.group) = (Checks(options.tls), Checks(options.proxyTLS), ObjectIdentifier(group))
            window = options.connection.http2Window
            // Functions cannot be compared, and each wants to be called.
            let isAlone = options.tls.onPinReport != nil || options.proxyTLS.onPinReport != nil || options.resolver != nil
            number = isAlone ? Self.nextNumber() : nil
        }

        private static let numbers = LockedValue<UInt64>(0)

        private static func nextNumber() -> UInt64 {
            numbers.withLockedValue { number in
                number += 1
                return number
            }
        }
    }
#endif
