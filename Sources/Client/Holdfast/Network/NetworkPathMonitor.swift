#if canImport(Network)
    import Dispatch
    import Network
    public import SessionCore

    /// Reports network changes from Apple's Network framework.
    ///
    /// ```swift
    /// let socket = WebSocket("wss://example.com/feed") { $0.pathSource = NetworkPathMonitor() }
    /// ```
    public struct NetworkPathMonitor: PathSource {
        /// Creates a source with a separate system monitor for each socket.
        public init() {}

        /// Returns the network changes, starting with the present state.
        public func updates() -> AsyncStream<PathWatch.Input> {
            AsyncStream { continuation in
                let monitor = NWPathMonitor()
                monitor.pathUpdateHandler = { continuation.yield(PathWatch.Input($0)) }
                continuation.onTermination = { _ in monitor.cancel() }
                monitor.start(queue: DispatchQueue(label: "holdfast.network-path"))
            }
        }
    }

    extension PathWatch.Input {
        init(_ path: NWPath) {
            // A path that requires a connection, such as VPN on demand, comes up only on a connection attempt. So do not wait for it.
            self = path.status == .unsatisfied ? .unsatisfied : .satisfied(NetworkPath(path))
        }
    }

    extension NetworkPath {
        init(_ path: NWPath) {
            // The first interface is the one that new connections use.
            let interface = path.availableInterfaces.first
            self.init(
                interface.map { Kind($0.type) } ?? .other, interface: interface?.name ?? "", isExpensive: path.isExpensive,
                isConstrained: path.isConstrained)
        }
    }

    extension NetworkPath.Kind {
        init(_ type: NWInterface.InterfaceType) {
            switch type {
            case .wiredEthernet: self = .wired
            case .wifi: self = .wifi
            case .cellular: self = .cellular
            case .loopback: self = .loopback
            case .other: self = .other
            @unknown default: self = .other
            }
        }
    }
#endif
