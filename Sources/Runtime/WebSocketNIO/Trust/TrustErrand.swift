import WebSocketRuntime

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What one connection's trust is about.
struct TrustErrand: Sendable {
    let options: TLSOptions
    /// As in the URL.
    let host: String
    /// What errors call the server.
    let place: String
    /// Whether the chain is only to be looked at.
    let isInspection: Bool
    /// Whether the server wanted a client certificate.
    let wasAskedForCertificate = LockedValue(false)

    /// The address that the certificate must be for, if it must be for one: 4 or 16 bytes.
    let address: [UInt8]?

    init(options: TLSOptions, host: String, place: String, isInspection: Bool) {
        (self.options, self.host, self.place, self.isInspection) = (options, host, place, isInspection)
        address = options.serverName == nil ? Self.bytes(ofAddress: host) : nil
    }

    /// The name for SNI; RFC 6066 §3 has no addresses there.
    var serverName: String? { options.serverName ?? (address == nil ? host : nil) }

    /// The names by which pin sets know the host.
    var names: [String] { [host] + (options.serverName.map { [$0] } ?? []) }

    private static func bytes(ofAddress text: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes.prefix(4)) }
        return inet_pton(AF_INET6, text, &bytes) == 1 ? bytes : nil
    }
}
