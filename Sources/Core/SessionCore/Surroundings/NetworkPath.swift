/// The way that new connections take out of this device.
///
/// Two paths that differ in anything are different paths.
public struct NetworkPath: Hashable, Sendable {
    /// What an interface is made of.
    public enum Kind: Hashable, Sendable {
        /// A cable.
        case wired
        /// A wireless network of the place.
        case wifi
        /// A mobile network.
        case cellular
        /// This device itself.
        case loopback
        /// A tunnel, or something unknown.
        case other
    }

    /// What the interface is made of.
    public var kind: Kind
    /// What the system calls the interface, such as `en0`.
    public var interface: String
    /// Whether its traffic costs money, as on a mobile network.
    public var isExpensive: Bool
    /// Whether people asked to save traffic on it.
    public var isConstrained: Bool

    /// A path over this interface; by default neither expensive nor constrained.
    public init(_ kind: Kind, interface: String, isExpensive: Bool = false, isConstrained: Bool = false) {
        (self.kind, self.interface, self.isExpensive, self.isConstrained) = (kind, interface, isExpensive, isConstrained)
    }
}
