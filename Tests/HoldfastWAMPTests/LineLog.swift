import Holdfast
import Logging
import WebSocketRuntime

/// A log that keeps its lines for a test.
struct LineLog: LogHandler {
    let lines: LogLines
    var logLevel = Logger.Level.debug
    var metadata: Logger.Metadata = [:]

    static func make() -> (Logger, LogLines) {
        let lines = LogLines()
        return (Logger(label: "test") { _ in LineLog(lines: lines) }, lines)
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.append("\(event.message)") }
}

/// The lines of a log, for which a test can wait.
final class LogLines: Sendable {
    private let lines = LockedValue<[String]>([])
    private let changes = Changes()

    /// All lines so far.
    var all: [String] { lines.withLockedValue(\.self) }

    func append(_ line: String) {
        lines.withLockedValue { $0.append(line) }
        changes.announce()
    }

    func contains(_ part: String) -> Bool { lines.withLockedValue { $0.contains { $0.contains(part) } } }

    /// Waits for a line that contains this text.
    func wait(for part: String) async { await changes.first { contains(part) ? () : nil } }
}
