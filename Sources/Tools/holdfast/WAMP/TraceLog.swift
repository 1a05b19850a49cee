import Logging

/// Writes what a session logs to standard error, one line each.
struct TraceLog: LogHandler {
    let style: Style
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    init(style: Style) { self.style = style }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let text = "\(event.message)"
        let part: Style.Part = text.hasPrefix("→") ? .sent : text.hasPrefix("←") ? .received : .note
        StandardOutput.warn(style.paint(TimeOfDay.now, .dim) + " " + style.paint(text.escapedOnOneLine, part))
    }
}
