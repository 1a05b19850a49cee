import Holdfast
import HoldfastTerminal
import Logging

extension WebSocketOptions {
    /// Uses the connection of the command line, but keeps what the protocol has prepared.
    ///
    /// - Parameter trace: The style in which the beginning of each message is printed to standard error; nil prints none.
    mutating func use(_ configuration: WebSocketConfiguration, trace: Style?) {
        let prepared = connection
        connection = configuration
        if !prepared.subprotocols.isEmpty { connection.subprotocols = prepared.subprotocols }
        connection.requiresSubprotocol = prepared.requiresSubprotocol
        // A payload may be a token, which must not go to another origin by a redirect.
        connection.redirectsStayInOrigin = prepared.redirectsStayInOrigin
        connection.timeouts.close = min(connection.timeouts.close, .seconds(3))
        guard let trace else { return }
        logger = Logger(label: "holdfast") { _ in
            TerminalLog(style: trace) { event in ("\(event.message)" + (event.metadata?["start"].map { " \($0)" } ?? ""), .note) }
        }
        logger.logLevel = .debug
        logsPayloads = true
    }
}

/// Writes a log to standard error, one line for each event.
struct TerminalLog: LogHandler {
    let style: Style
    /// Returns the text of an event, and how it is painted.
    let line: @Sendable (LogEvent) -> (text: String, part: Style.Part)
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    init(style: Style, line: @escaping @Sendable (LogEvent) -> (text: String, part: Style.Part)) {
        (self.style, self.line) = (style, line)
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let (text, part) = line(event)
        StandardOutput.warn(style.paint(TimeOfDay.now, .dim) + " " + style.paint(text.escapedOnOneLine, part))
    }
}
