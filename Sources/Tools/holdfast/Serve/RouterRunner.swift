import Foundation
import HoldfastHub
import HoldfastRouter
import HoldfastServer

/// Runs a WAMP router as its options say, until a signal comes.
struct RouterRunner: Sendable {
    let options: ServeOptions
    let messages: ServeMessageOptions
    let log: ServerLog

    init(_ options: ServeOptions, _ messages: ServeMessageOptions) {
        let style = Style(isTerminal: isatty(STDERR_FILENO) == 1, environment: ProcessInfo.processInfo.environment)
        (self.options, self.messages, log) = (options, messages, ServerLog(style: style, isQuiet: options.quiet))
    }

    /// Prints the URL once it listens, and returns when all sessions were told; a problem is told, and ends with its status.
    func run(_ configure: (WebSocketServerConfiguration, ServerLog) throws -> WAMPRouterConfiguration) async throws {
        do {
            let certificate = try options.tlsSelfSigned ? SelfSignedCertificate.make() : nil
            defer { certificate?.remove() }
            var server = options.configuration(certificate)
            messages.apply(to: &server)
            try await run(try configure(server, log), certificate)
        } catch {
            log.problem("\(error)")
            throw Outcome.failed.code
        }
    }

    private func run(_ configuration: WAMPRouterConfiguration, _ certificate: SelfSignedCertificate?) async throws {
        guard let port = options.metrics else { return try await serve(configuration, certificate) }
        let page = MetricsPage(registry: PrometheusRegistry(), port: port)
        try await page.server.withRunning { running in
            log.note("metrics: http://\(running.host):\(running.port)/metrics")
            var configuration = configuration
            configuration.server.metrics = page.registry
            try await serve(configuration, certificate)
        }
    }

    private func serve(_ configuration: WAMPRouterConfiguration, _ certificate: SelfSignedCertificate?) async throws {
        let router = WAMPRouter(configuration)
        try await router.withRunning { running in
            StandardOutput.write(running.url("/ws") + "\n")
            let realms = configuration.policy.realms.map { $0.sorted().joined(separator: ", ") } ?? "any"
            log.note("for development, tests and small services; realms: \(realms.escapedOnOneLine); all is kept in memory")
            if let certificate { log.note("trust it with --ca \(certificate.certificateFile)") }
            _ = await Signals.firstEnding()
            let status = router.status
            let work = "\(status.calls.counted("call")) and \(status.events.counted("event"))"
            log.note("saying goodbye to \(status.sessions.counted("session")), after \(work)")
        }
    }
}
