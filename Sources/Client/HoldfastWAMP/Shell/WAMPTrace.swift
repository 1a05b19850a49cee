import Holdfast
import Logging
import WebSocketRuntime
import WAMPCore

/// What the log hears of messages, in words.
final class WAMPTrace: Sendable {
    private let logger: Logger
    private let payloadLimit: Int
    private let isOn: Bool
    private let secrets: SessionSecrets
    private let names = LockedValue(MessageNames())

    init(_ options: WAMPOptions, hiding secrets: SessionSecrets) {
        self.secrets = secrets
        (logger, payloadLimit) = (options.logger, options.logsPayloads ? 2000 : 0)
        isOn = options.logger.logLevel <= .debug
    }

    func sent(_ message: WAMPMessage) { if isOn { log("→", message) { $0.noteSent(message) } } }
    func received(_ message: WAMPMessage) { if isOn { log("←", message) { $0.noteReceived(message) } } }

    /// Logs a message, and then learns from it.
    private func log(_ way: String, _ message: WAMPMessage, _ learn: (inout MessageNames) -> Void) {
        let words = names.withLockedValue { names in
            defer { learn(&names) }
            return message.words(names.wording(payloadLimit: payloadLimit))
        }
        logger.debug("\(way) \(secrets.hiding(words))")
    }

    func received(_ error: WAMPFormatError) { if isOn { logger.debug("← what is no message: \(secrets.hiding("\(error)"))") } }

    func unencodable(_ message: WAMPMessage, _ error: any Error) {
        logger.error("\(message.words()) could not be written, and was not sent: \(error)")
    }
}
