/// What one of this device's interfaces is like at a moment.
public struct NetworkInterface: Hashable, Sendable {
    /// What the system calls it, such as `eth0`.
    public var name: String
    /// What it is made of.
    public var kind: NetworkPath.Kind
    /// Its addresses, as text.
    public var addresses: Set<String>
    /// Whether packets to the rest of the world leave here.
    public var isDefault: Bool

    /// An interface that is up.
    public init(_ name: String, _ kind: NetworkPath.Kind, addresses: Set<String>, isDefault: Bool = false) {
        (self.name, self.kind, self.addresses, self.isDefault) = (name, kind, addresses, isDefault)
    }

    /// What can be connected from: not this device itself, nor an address that nobody gave it (RFC 3927, RFC 4291 §2.5.6).
    var usableAddresses: Set<String> {
        kind == .loopback ? [] : addresses.filter { !$0.hasPrefix("169.254.") && !$0.hasPrefix("fe80:") }
    }
}

extension NetworkPath.Kind {
    /// What an interface is made of, by the names that Linux gives.
    public init(linuxName name: String) {
        let kinds: [(prefix: String, kind: NetworkPath.Kind)] = [
            ("lo", .loopback), ("wl", .wifi), ("ww", .cellular), ("ppp", .cellular), ("rmnet", .cellular), ("en", .wired), ("eth", .wired),
        ]
        self = kinds.first { name.hasPrefix($0.prefix) }?.kind ?? .other
    }
}
