#if os(Linux)
    public import SessionCore

    #if canImport(Musl)
        import Musl
    #else
        import Glibc
    #endif

    /// Polls the network interfaces of a Linux machine every few seconds, and reports changes.
    ///
    /// `InterfaceWatch` decides what is reported and when. A poll is one system call and a read of `/proc/net/route`.
    public struct LinuxPathSource: PathSource {
        private let interval: Duration
        private let look: @Sendable () -> [NetworkInterface]

        /// Creates a source that polls at once and then after each `interval`, which is at least a tenth of a second.
        public init(every interval: Duration = .seconds(2)) { self.init(every: interval, look: NetworkInterface.present) }

        init(every interval: Duration, look: @escaping @Sendable () -> [NetworkInterface]) {
            (self.interval, self.look) = (max(interval, .milliseconds(100)), look)
        }

        /// Returns the network changes, starting with the present state.
        public func updates() -> AsyncStream<PathWatch.Input> {
            let (interval, look) = (interval, look)
            return AsyncStream { continuation in
                // SAFETY: ends with the stream that it feeds.
                let task = Task {
                    var watch = InterfaceWatch()
                    repeat {
                        for update in watch.look(at: look()) { continuation.yield(update) }
                    } while (try? await Task.sleep(for: interval)) != nil
                    continuation.finish()
                }
                continuation.onTermination = { _ in task.cancel() }
            }
        }
    }

    extension NetworkInterface {
        /// Returns the interfaces of this device that are up and have an address.
        ///
        /// Source: getifaddrs(3), netdevice(7).
        @Sendable static func present() -> [NetworkInterface] {
            var list: UnsafeMutablePointer<ifaddrs>?
            guard getifaddrs(&list) == 0 else { return [] }
            defer { freeifaddrs(list) }
            let defaultInterface = contents(of: "/proc/net/route").flatMap(DefaultRoutes.interface(inRoutes:))
            var interfaces: [String: NetworkInterface] = [:]
            for entry in sequence(first: list, next: { $0?.pointee.ifa_next }).compactMap(\.self) {
                let needed = UInt32(IFF_UP) | UInt32(IFF_RUNNING)
                guard entry.pointee.ifa_flags & needed == needed, let address = text(of: entry.pointee.ifa_addr) else { continue }
                let name = String(cString: entry.pointee.ifa_name)
                let isLoopback = entry.pointee.ifa_flags & UInt32(IFF_LOOPBACK) != 0
                let kind = isLoopback ? .loopback : NetworkPath.Kind(linuxName: name)
                let known = interfaces[name] ?? NetworkInterface(name, kind, addresses: [], isDefault: name == defaultInterface)
                interfaces[name] = NetworkInterface(name, kind, addresses: known.addresses.union([address]), isDefault: known.isDefault)
            }
            return interfaces.values.sorted { $0.name < $1.name }
        }

        /// Returns an IPv4 or IPv6 address as text; nil for other address families.
        private static func text(of address: UnsafeMutablePointer<sockaddr>?) -> String? {
            guard let address else { return nil }
            let size: Int
            switch Int32(address.pointee.sa_family) {
            case AF_INET: size = MemoryLayout<sockaddr_in>.size
            case AF_INET6: size = MemoryLayout<sockaddr_in6>.size
            default: return nil
            }
            var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            guard getnameinfo(address, socklen_t(size), &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST) == 0 else { return nil }
            return String(decoding: host.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        }

        private static func contents(of path: String) -> String? {
            let file = open(path, O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return nil }
            defer { close(file) }
            var (bytes, part): ([UInt8], [UInt8]) = ([], [UInt8](repeating: 0, count: 4096))
            while case let count = read(file, &part, part.count), count > 0 { bytes += part.prefix(count) }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
#endif
