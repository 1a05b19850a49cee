import Foundation
public import WebSocketCore
import WebSocketRuntime

/// Who opens TCP connections on our behalf.
public enum ProxyChoice: Hashable, Sendable {
    /// Nobody.
    case direct
    /// This proxy, for every server; a URL of a Unix domain socket is then an error.
    case through(Proxy)
    /// The one that environment variables name for the server, if any; see `ProxyEnvironment`.
    case environment(ProxyEnvironment)

    /// What this process's environment says now.
    public static var environment: ProxyChoice { .environment(ProxyEnvironment(ProcessInfo.processInfo.environment)) }

    /// The proxy for a URL; nil: none.
    func proxy(for url: WebSocketURL) throws(WebSocketError) -> Proxy? {
        switch self {
        case .direct: return nil
        case .through(let proxy): return proxy
        case .environment(let environment):
            do throws(URLProblem) {
                return try environment.proxy(for: url)
            } catch {
                throw WebSocketError(TransportError(.invalidConfiguration, "the proxy cannot be used: \(error)", underlying: error))
            }
        }
    }
}
