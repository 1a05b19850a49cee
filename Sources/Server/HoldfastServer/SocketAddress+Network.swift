import Foundation
package import NIOCore

extension SocketAddress {
    /// What limits per address count: see ``network(of:)``; nil for a Unix domain socket, whose clients have none.
    package var network: String? { ipAddress.map(Self.network(of:)) }

    /// An IPv4 address as it is, and the first 64 bits of one of IPv6: whoever has one of those has them all.
    package static func network(of host: String) -> String {
        var bytes = [UInt8](repeating: 0, count: 16)
        guard inet_pton(AF_INET6, String(host.prefix { $0 != "%" }), &bytes) == 1 else { return host }
        // IPv4 that came over a socket for both (RFC 4291 §2.5.5.2).
        if bytes.prefix(10).allSatisfy({ $0 == 0 }), bytes[10...11] == [0xFF, 0xFF] {
            return bytes.suffix(4).map { String($0) }.joined(separator: ".")
        }
        return bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: ".") + "/64"
    }
}
