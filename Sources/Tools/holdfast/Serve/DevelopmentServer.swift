import Foundation
import Holdfast
import HoldfastHub
import HoldfastServer
import HoldfastTerminal
import Logging
import Metrics

/// Runs a development server until a signal arrives.
struct DevelopmentServer: Sendable {
    let messages: ServeMessageOptions
    /// The path of the printed URL.
    let path: String
    private let runner: ServerRunner
    var log: ServerLog { runner.log }

    init(_ options: ServeOptions, _ messages: ServeMessageOptions, path: String = "/") {
        (self.messages, self.path, runner) = (messages, path, ServerRunner(options))
    }

    /// Prints the URL once the server listens, and returns when all connections are closed; an error is printed and sets the exit status.
    func run(_ make: (WebSocketServerConfiguration) -> WebSocketServer) async throws {
        try await runner.run { configuration, certificate in
            try await make(settings(configuration)).withRunning { running in
                StandardOutput.write(running.url(path) + "\n")
                if let certificate { log.note("trust it with: holdfast connect --ca \(certificate.certificateFile) \(running.url(path))") }
                _ = await Signals.firstEnding()
                log.note("closing \(running.connectionCount.counted("connection"))")
            }
        }
    }

    /// Adapts the configuration to the file limit; if other machines can connect, one address may use half of the connections.
    private func settings(_ configuration: WebSocketServerConfiguration) -> WebSocketServerConfiguration {
        var configuration = configuration
        messages.apply(to: &configuration)
        configuration.maximumConnections = OpenFiles.makeRoom(forConnections: configuration.maximumConnections)
        if !OriginPolicy.isLoopback(host: configuration.host) {
            configuration.maximumConnectionsPerAddress = OpenFiles.share(ofConnections: configuration.maximumConnections)
        }
        return configuration
    }
}

/// Runs a server with its certificate, metrics and log.
struct ServerRunner: Sendable {
    let options: ServeOptions
    let log: ServerLog

    init(_ options: ServeOptions) {
        let style = Style(isTerminal: isatty(STDERR_FILENO) == 1, environment: ProcessInfo.processInfo.environment)
        (self.options, log) = (options, ServerLog(style: style, isQuiet: options.quiet))
    }

    /// Runs `serve`; an error is printed and sets the exit status.
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

/// A self-signed certificate for this machine, in its own directory that only this user can read.
struct SelfSignedCertificate: Sendable {
    /// The reason why there is no certificate.
    struct Failure: Error, CustomStringConvertible { let description: String }

    private let directory: URL

    var certificateFile: String { directory.appendingPathComponent("certificate.pem").path }
    var keyFile: String { directory.appendingPathComponent("key.pem").path }

    /// Runs the `openssl` program to create a certificate for localhost, 127.0.0.1 and ::1, valid for 30 days.
    static func make() throws -> SelfSignedCertificate {
        var template = Array(FileManager.default.temporaryDirectory.appendingPathComponent("holdfast-XXXXXX").path.utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure(description: "cannot create a directory for the certificate") }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let certificate = SelfSignedCertificate(directory: URL(fileURLWithPath: path, isDirectory: true))
        do {
            try certificate.runOpenSSL()
            return certificate
        } catch {
            certificate.remove()
            throw error
        }
    }

    /// Deletes the files.
    func remove() { try? FileManager.default.removeItem(at: directory) }

    private func runOpenSSL() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1",
            "-keyout", keyFile, "-out", certificateFile,
        ]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(
                description: "the openssl program created no certificate (status \(process.terminationStatus)); "
                    + "install it, or give --tls-cert and --tls-key")
        }
    }
}

/// Writes the log messages of a library to the log of a development server.
struct ServerLogHandler: LogHandler {
    let lines: ServerLog
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let text = "\(event.message)"
        if event.level >= .error { lines.problem(text) } else { lines.note(text.escapedOnOneLine) }
    }
}

/// Serves the metrics registry to Prometheus at `/metrics`, on its own port, on this machine only.
struct MetricsPage: Sendable {
    let registry: PrometheusRegistry
    let port: Int

    /// The server of the page; its own activity is not counted in the registry.
    var server: WebSocketServer {
        var configuration = WebSocketServerConfiguration()
        (configuration.port, configuration.metrics) = (port, NOOPMetricsHandler.instance)
        // A short timeout, so that silent connections do not keep others out for long.
        (configuration.maximumConnections, configuration.timeouts.handshake) = (64, .seconds(2))
        return WebSocketServer(
            configuration: configuration, upgrade: { _ in .refuse(.notFound) }, http: { Self.answer($0, registry) }, handler: { _, _ in })
    }

    static func answer(_ request: RequestHead, _ registry: PrometheusRegistry) -> HTTPResponse {
        // A web page can make its own name resolve to this machine; its browser then sends that name.
        guard request.headers["Host"].map({ OriginPolicy.isLoopback(host: $0) }) ?? true else {
            return HTTPResponse(status: 403, text: "The metrics are only for this machine: use 127.0.0.1 or localhost.\n")
        }
        guard request.path == "/metrics" else { return HTTPResponse(status: 404, text: "The metrics are at /metrics.\n") }
        guard ["GET", "HEAD"].contains(request.method) else {
            return HTTPResponse(status: 405, headers: ["Allow": "GET, HEAD"])
        }
        return HTTPResponse(status: 200, text: registry.text, contentType: "text/plain; version=0.0.4; charset=utf-8")
    }
}
