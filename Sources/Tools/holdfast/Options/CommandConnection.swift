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
        logger = Logger(label: "holdfast") { _ in MessageTrace(style: trace) }
        logger.logLevel = .debug
        logsPayloads = true
    }
}

/// Writes the beginning of each message to standard error, one line each.
struct MessageTrace: LogHandler {
    let style: Style
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug

    init(style: Style) { self.style = style }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let payload = event.metadata?["start"].map { " \($0)" } ?? ""
        StandardOutput.warn(style.paint(TimeOfDay.now, .dim) + " " + "\(event.message)\(payload)".escapedOnOneLine)
    }
}
