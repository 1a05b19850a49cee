import Foundation
import HoldfastHub
import HoldfastServer

/// Runs a server as its options say, with its certificate, its metrics and its log.
struct ServerRunner: Sendable {
    let options: ServeOptions
    let log: ServerLog

    init(_ options: ServeOptions) {
        let style = Style(isTerminal: isatty(STDERR_FILENO) == 1, environment: ProcessInfo.processInfo.environment)
        (self.options, log) = (options, ServerLog(style: style, isQuiet: options.quiet))
    }

    /// Returns when `serve` does; a problem is told, and ends with its status.
    func run(_ serve: (WebSocketServerConfiguration, SelfSignedCertificate?) async throws -> Void) async throws {
        do {
            let certificate = try options.tlsSelfSigned ? SelfSignedCertificate.make() : nil
            defer { certificate?.remove() }
            var configuration = options.configuration(certificate)
            guard let port = options.metrics else { return try await serve(configuration, certificate) }
            let page = MetricsPage(registry: PrometheusRegistry(), port: port)
            configuration.metrics = page.registry
            try await page.server.withRunning { [configuration] running in
                log.note("metrics: http://\(running.host):\(running.port)/metrics")
                try await serve(configuration, certificate)
            }
        } catch {
            log.problem("\(error)")
            throw Outcome.failed.code
        }
    }
}
