import Foundation
import HoldfastHub
import HoldfastServer

/// Runs a hub as its options say, until a signal comes.
struct HubRunner: Sendable {
    let options: ServeOptions
    let log: ServerLog

    init(options: ServeOptions) {
        let style = Style(isTerminal: isatty(STDERR_FILENO) == 1, environment: ProcessInfo.processInfo.environment)
        (self.options, log) = (options, ServerLog(style: style, isQuiet: options.quiet))
    }

    /// Prints the URL once it listens, and returns when all clients were told; a problem is told, and ends with its status.
    func run(_ configure: (WebSocketServerConfiguration, _ isQuiet: Bool) async throws -> HubConfiguration) async throws {
        do {
            let certificate = try options.tlsSelfSigned ? SelfSignedCertificate.make() : nil
            defer { certificate?.remove() }
            let configuration = try await configure(options.configuration(certificate), options.quiet)
            try await run(configuration, certificate)
        } catch {
            log.problem("\(error)")
            throw Outcome.failed.code
        }
    }

    private func run(_ configuration: HubConfiguration, _ certificate: SelfSignedCertificate?) async throws {
        guard let port = options.metrics else { return try await serve(configuration, certificate) }
        let page = MetricsPage(registry: PrometheusRegistry(), port: port)
        try await page.server.withRunning { running in
            log.note("metrics: http://\(running.host):\(running.port)/metrics")
            var configuration = configuration
            configuration.server.metrics = page.registry
            try await serve(configuration, certificate)
        }
    }

    private func serve(_ configuration: HubConfiguration, _ certificate: SelfSignedCertificate?) async throws {
        try await Hub(configuration).withRunning { hub in
            StandardOutput.write(hub.url + "\n")
            log.note("the log is in \(configuration.data.escapedOnOneLine)")
            if options.unix == nil {
                let page = hub.server.url().replacing(/^ws/, with: "http")
                log.note("page: \(page)  status: \(page)status")
            }
            if let certificate { log.note("trust it with --ca \(certificate.certificateFile)") }
            if configuration.takesDevelopmentTokens { log.note("chat: holdfast chat \(hub.url) --room lobby --name YOU") }
            _ = await Signals.firstEnding()
            log.note("closing \(hub.server.connectionCount.counted("connection"))")
        }
    }
}
