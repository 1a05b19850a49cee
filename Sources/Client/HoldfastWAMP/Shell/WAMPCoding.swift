import CodecCore
import Holdfast
import HoldfastProtocols
import Logging
import WAMPCore
import WebSocketCore
import WebSocketRuntime

/// Encodes and decodes the messages of one connection, and authenticates there; its nonces are used once.
struct WAMPCoding: ProtocolCoding {
    let serialization: WAMPSerialization
    let identification: WAMPIdentification
    let trace: WAMPTrace
    let limits: CodecLimits

    /// - Returns: Nil if the server has selected no WAMP subprotocol.
    init?(_ opening: Opening, _ context: WAMPContext) {
        guard let serialization = opening.subprotocol.flatMap({ WAMPSerialization(subprotocol: $0) }) else { return nil }
        (self.serialization, identification) = (serialization, WAMPIdentification(context.authentication))
        (trace, limits) = (context.trace, context.options.limits)
    }

    var greeting: ValueMap { identification.extra }

    func decode(_ message: Message) throws -> WAMPMessage? {
        let received = message.withBytes { bytes in
            Result { () throws(WAMPFormatError) in
                try WAMPMessage(decoding: bytes.bytes, of: message.kind, as: serialization, limits: limits)
            }
        }
        trace.received(received)
        return try received.get()
    }

    func encode(_ message: WAMPMessage) throws -> Message {
        trace.sent(message)
        do { return try message.written(as: serialization) } catch {
            trace.unencodable(message, error)
            throw error
        }
    }
}

/// Logs messages as readable text.
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

    func received(_ received: Result<WAMPMessage, WAMPFormatError>) {
        guard isOn else { return }
        switch received {
        case .success(let message): log("←", message) { $0.noteReceived(message) }
        case .failure(let error): logger.debug("← not a valid message: \(secrets.hiding("\(error)"))")
        }
    }

    /// Logs a message, and then updates the names of requests from it.
    private func log(_ way: String, _ message: WAMPMessage, _ learn: (inout MessageNames) -> Void) {
        let words = names.withLockedValue { names in
            defer { learn(&names) }
            return message.words(names.wording(payloadLimit: payloadLimit))
        }
        logger.debug("\(way) \(secrets.hiding(words))")
    }

    func unencodable(_ message: WAMPMessage, _ error: any Error) {
        logger.error("\(message.words()) could not be encoded, and was not sent: \(error)")
    }
}
