import Metrics
import Holdfast
import HoldfastHub
import HoldfastServer

/// Serves the registry to Prometheus: `/metrics` on a port of its own, on this machine only.
struct MetricsPage: Sendable {
    let registry: PrometheusRegistry
    let port: Int

    /// The server of the page; of what it costs itself the registry is not told.
    var server: WebSocketServer {
        var configuration = WebSocketServerConfiguration()
        (configuration.port, configuration.metrics) = (port, NOOPMetricsHandler.instance)
        // Those that say nothing do not keep others out for long.
        (configuration.maximumConnections, configuration.timeouts.handshake) = (64, .seconds(2))
        return WebSocketServer(
            configuration: configuration, upgrade: { _ in .refuse(.notFound) }, http: { Self.answer($0, registry) }, handler: { _, _ in })
    }

    static func answer(_ request: RequestHead, _ registry: PrometheusRegistry) -> HTTPResponse {
        // A page on the web can make a name of its own lead here; its browser says that name.
        guard request.headers["Host"].map({ OriginPolicy.isLoopback(host: $0) }) ?? true else {
            return HTTPResponse(status: 403, text: "The metrics are for this machine: ask for 127.0.0.1 or localhost.\n")
        }
        guard request.path == "/metrics" else { return HTTPResponse(status: 404, text: "The metrics are at /metrics.\n") }
        guard ["GET", "HEAD"].contains(request.method) else {
            return HTTPResponse(status: 405, headers: ["Allow": "GET, HEAD"])
        }
        return HTTPResponse(status: 200, text: registry.text, contentType: "text/plain; version=0.0.4; charset=utf-8")
    }
}
