import Foundation
import Holdfast
import HoldfastHub
import HoldfastServer

/// Runs a server as its options say, until a signal comes.
struct DevelopmentServer: Sendable {
    let options: ServeOptions
    let messages: ServeMessageOptions
    /// The path of the URL that is printed.
    var path = "/"
    let log: ServerLog

    init(_ options: ServeOptions, _ messages: ServeMessageOptions, path: String = "/") {
        let style = Style(isTerminal: isatty(STDERR_FILENO) == 1, environment: ProcessInfo.processInfo.environment)
        (self.options, self.messages, self.path, log) = (options, messages, path, ServerLog(style: style, isQuiet: options.quiet))
    }

    /// Prints the URL once it listens, and returns when all connections are closed; a problem is told, and ends with its status.
    func run(_ make: @Sendable (WebSocketServerConfiguration) -> WebSocketServer) async throws {
        do {
            let certificate = try options.tlsSelfSigned ? SelfSignedCertificate.make() : nil
            defer { certificate?.remove() }
            try await run(certificate, make)
        } catch {
            log.problem("\(error)")
            throw Outcome.failed.code
        }
    }

    private func run(
        _ certificate: SelfSignedCertificate?, _ make: @Sendable (WebSocketServerConfiguration) -> WebSocketServer
    ) async throws {
        guard let port = options.metrics else { return try await run(make(settings(certificate)), certificate) }
        let page = MetricsPage(registry: PrometheusRegistry(), port: port)
        try await page.server.withRunning { running in
            log.note("metrics: http://\(running.host):\(running.port)/metrics")
            var configuration = settings(certificate)
            configuration.metrics = page.registry
            try await run(make(configuration), certificate)
        }
    }

    /// What the options ask for; as many connections as there can be files, and where others than this machine may come, half for each.
    private func settings(_ certificate: SelfSignedCertificate?) -> WebSocketServerConfiguration {
        var configuration = options.configuration(certificate)
        messages.apply(to: &configuration)
        configuration.maximumConnections = OpenFiles.makeRoom(forConnections: configuration.maximumConnections)
        if !OriginPolicy.isLoopback(host: configuration.host) {
            configuration.maximumConnectionsPerAddress = OpenFiles.share(ofConnections: configuration.maximumConnections)
        }
        return configuration
    }

    private func run(_ server: WebSocketServer, _ certificate: SelfSignedCertificate?) async throws {
        try await server.withRunning { running in
            StandardOutput.write(running.url(path) + "\n")
            if let certificate { log.note("trust it with: holdfast connect --ca \(certificate.certificateFile) \(running.url(path))") }
            _ = await Signals.firstEnding()
            log.note("closing \(running.connectionCount.counted("connection"))")
        }
    }
}
