import Holdfast
import HoldfastServer

/// Runs a server for development as its options say, until a signal comes.
struct DevelopmentServer: Sendable {
    let messages: ServeMessageOptions
    /// The path of the URL that is printed.
    let path: String
    private let runner: ServerRunner
    var log: ServerLog { runner.log }

    init(_ options: ServeOptions, _ messages: ServeMessageOptions, path: String = "/") {
        (self.messages, self.path, runner) = (messages, path, ServerRunner(options))
    }

    /// Prints the URL once it listens, and returns when all connections are closed; a problem is told, and ends with its status.
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

    /// With as many connections as there can be files, and where others than this machine may come, half for each.
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
