import NIOCore
import NIOPosix
import WebSocketCore
import WebSocketRuntime

/// What stands between the socket and the WebSocket when there is a proxy.
struct ProxyStage: Sendable {
    let proxy: Proxy
    let options: ClientOptions
    private let tls: ClientTLS?
    private let negotiation: ProxyNegotiation

    init(_ proxy: Proxy, _ options: ClientOptions) throws(TransportError) {
        (self.proxy, self.options) = (proxy, options)
        guard options.url.socketPath == nil else {
            throw TransportError(.invalidConfiguration, "no proxy leads to a Unix domain socket: \(options.url)")
        }
        tls = proxy.kind == .https ? try ClientTLS(options.proxyTLS, host: proxy.host, place: "the proxy \(proxy)") : nil
        do throws(ProxyFailure) {
            negotiation = try ProxyNegotiation(
                through: proxy, to: options.url.host, port: options.url.port, headLimit: options.headLimit)
        } catch {
            throw TransportError(.invalidConfiguration, "no way through the proxy \(proxy): \(error)", underlying: error)
        }
    }

    /// Puts the talk with the proxy at the end of the pipeline; `fail` is told if it leads to nothing.
    func add(to pipeline: ChannelPipeline.SynchronousOperations, fail: @escaping @Sendable (TransportError) -> Void) throws {
        try tls?.install(on: pipeline)
        try pipeline.addHandler(ProxyHandler(self, negotiation, fail: fail))
    }

    /// Sorts what went wrong while connecting to the proxy.
    func failure(connecting error: any Error) -> TransportError {
        // A proxy is found as a server is: what differs is who could not be reached.
        let plain = TransportError(connecting: error, to: options.url)
        let cause = (error as? NIOConnectionError)?.connectionErrors.last?.error ?? error
        let words =
            switch plain.code {
            case .unresolved: "its host could not be found"
            case .timedOut: "it did not answer in time"
            default: TransportError.words(cause)
            }
        return TransportError(plain.code, "could not connect to the proxy \(proxy): \(words)", underlying: error)
    }
}
