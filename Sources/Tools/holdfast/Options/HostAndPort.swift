import ArgumentParser

/// Where a relay leads: `host:port`, `[::1]:port`.
struct HostAndPort: Hashable, Sendable, ExpressibleByArgument, CustomStringConvertible {
    let host: String
    let port: Int

    /// Reads a host and a port from 1 to 65535; nil for anything else.
    init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":") else { return nil }
        let digits = argument[argument.index(after: colon)...]
        guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }), let port = Int(digits), 1...65_535 ~= port else {
            return nil
        }
        var host = argument[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil  // Where an IPv6 address ends would be a guess.
        }
        guard !host.isEmpty, host.unicodeScalars.allSatisfy({ $0.isASCII && $0.value > 0x20 && $0.value != 0x7F }) else { return nil }
        (self.host, self.port) = (String(host), port)
    }

    /// As it is written on the command line.
    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
