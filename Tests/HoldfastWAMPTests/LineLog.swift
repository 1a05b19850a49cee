import Logging
import NIOConcurrencyHelpers

/// A log whose lines a test looks at.
struct LineLog: LogHandler {
    let lines: NIOLockedValueBox<[String]>
    var logLevel = Logger.Level.debug
    var metadata: Logger.Metadata = [:]

    static func make() -> (Logger, NIOLockedValueBox<[String]>) {
        let lines = NIOLockedValueBox<[String]>([])
        return (Logger(label: "test") { _ in LineLog(lines: lines) }, lines)
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.withLockedValue { $0.append("\(event.message)") } }
}
