#if canImport(Network)
    import Dispatch
    import Network
    public import SessionCore

    /// Tells what Apple's Network framework knows of the network.
    ///
    /// ```swift
    /// let socket = WebSocket("wss://example.com/feed") { $0.pathSource = NetworkPathMonitor() }
    /// ```
    public struct NetworkPathMonitor: PathSource {
        /// A source that asks the system anew for each socket.
        public init() {}

        /// What happens to the network, beginning with how it is.
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
            // What requires a connection, such as a VPN on demand, comes up when somebody connects: who waits for it waits for ever.
            self = path.status == .unsatisfied ? .unsatisfied : .satisfied(NetworkPath(path))
        }
    }

    extension NetworkPath {
        init(_ path: NWPath) {
            // The first is the one that new connections take.
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
