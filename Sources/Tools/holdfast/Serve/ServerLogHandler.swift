import Logging

/// Shows what a library logs among the lines of a development server.
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
