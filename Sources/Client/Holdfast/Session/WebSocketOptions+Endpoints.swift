import WebSocketCore
import WebSocketRuntime

extension WebSocketOptions {
    /// Why a URL can never be connected to, be it the first or one of the alternatives; nil if all are good.
    func problem(with url: String) -> WebSocketError? {
        for (index, string) in ([url] + alternatives).enumerated() {
            do throws(URLProblem) {
                _ = try WebSocketURL(string)
            } catch {
                let place = index == 0 ? "" : "alternatives[\(index - 1)]: "
                return WebSocketError(TransportError(.invalidURL, place + error.description, underlying: error))
            }
        }
        return nil
    }

    /// Whether one of the URLs leads to this device itself, which needs no network.
    func staysWithinDevice(_ url: String) -> Bool {
        ([url] + alternatives).contains { (try? WebSocketURL($0))?.isLoopback ?? false }
    }
}

extension WebSocketURL {
    /// Whether the host is this device: RFC 6761 §6.3, RFC 1122 §3.2.1.3, RFC 4291 §2.5.3.
    var isLoopback: Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
