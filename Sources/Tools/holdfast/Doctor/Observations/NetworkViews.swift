/// Which proxy is on our side of the way.
struct ProxyView: Encodable, Hashable, Sendable {
    /// Without name and password.
    let url: String
    /// Whether the environment named it, and not the command line.
    let isFromEnvironment: Bool
}

/// What a name led to.
struct Resolution: Encodable, Hashable, Sendable {
    /// One address, and whether TCP could be opened to it.
    struct Address: Encodable, Hashable, Sendable {
        let address: String
        /// `IPv4` or `IPv6`.
        let family: String
        /// How long TCP took; nil: it could not be opened.
        var connectMs: Double?
        var error: String?
    }

    let host: String
    var lookupMs: Double
    /// In the order in which the system would have them tried.
    var addresses: [Address] = []
    /// Why there is no address.
    var error: String?

    var answering: [Address] { addresses.filter { $0.connectMs != nil } }
    /// The families with addresses of which not one answered.
    var deadFamilies: [String] {
        Set(addresses.map(\.family)).subtracting(answering.map(\.family)).sorted()
    }
}
