import Logging
import WebSocketCore
import WebSocketRuntime

/// The lines of a session's log about messages, if the app wants any: how each begins, without secrets.
struct PayloadLog: Sendable {
    /// How many bytes of a message are shown.
    static let limit = 64
    private let logger: Logger
    private let secrets: SessionSecrets

    /// Nil if there is nothing to be logged.
    init?(_ options: WebSocketOptions, _ secrets: SessionSecrets) {
        guard options.logsPayloads, options.logger.logLevel <= .debug else { return nil }
        (logger, self.secrets) = (options.logger, secrets)
    }

    /// The same connection, whose messages are logged from here on.
    func watching(_ connection: WebSocketConnection) -> WebSocketConnection {
        connection.over(LoggedTransport(connection.transport, self))
    }

    func sent(_ message: Message) { log("message sent", message) }
    func sent(_ chunk: MessageChunk) { log("piece sent", Message(chunk)) }

    func received(_ received: Received) {
        switch received {
        case .message(let message): log("message received", message)
        case .chunk(let chunk): log("piece received", Message(chunk))
        }
    }

    private func log(_ what: Logger.Message, _ message: Message) {
        let start = MessageExcerpt(of: message, limit: Self.limit, hiding: secrets.known).start
        logger.debug(what, metadata: ["kind": "\(message.kind)", "bytes": "\(message.byteCount)", "start": "\(start)"])
    }
}

extension Message {
    /// A piece as if it were whole: a character that it cuts is shown as one that cannot be read.
    fileprivate init(_ chunk: MessageChunk) {
        self = chunk.kind == .text ? .text(String(decoding: chunk.bytes, as: UTF8.self)) : .binary(chunk.bytes)
    }
}
