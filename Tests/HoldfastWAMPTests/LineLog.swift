import Logging
import WebSocketRuntime

/// A log that keeps its lines for a test.
struct LineLog: LogHandler {
    let lines: LockedValue<[String]>
    var logLevel = Logger.Level.debug
    var metadata: Logger.Metadata = [:]

    static func make() -> (Logger, LockedValue<[String]>) {
        let lines = LockedValue<[String]>([])
        return (Logger(label: "test") { _ in LineLog(lines: lines) }, lines)
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.withLockedValue { $0.append("\(event.message)") } }
}
