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

    func sent(_ message: Message) { log("message sent", message.kind, message.byteCount, beginning: message) }
    func received(_ message: Message) { log("message received", message.kind, message.byteCount, beginning: message) }
    func sent(_ chunk: MessageChunk, isFirst: Bool) { log("piece sent", chunk, isFirst) }
    func received(_ chunk: MessageChunk, isFirst: Bool) { log("piece received", chunk, isFirst) }

    /// Of later pieces nothing is shown: a secret in one may be announced in a piece before it, or have begun there.
    private func log(_ what: Logger.Message, _ chunk: MessageChunk, _ isFirst: Bool) {
        log(what, chunk.kind, chunk.bytes.count, beginning: isFirst ? Message(chunk) : nil)
    }

    private func log(_ what: Logger.Message, _ kind: MessageKind, _ byteCount: Int, beginning message: Message?) {
        var metadata: Logger.Metadata = ["kind": "\(kind)", "bytes": "\(byteCount)"]
        if let message { metadata["start"] = "\(MessageExcerpt(of: message, limit: Self.limit, hiding: secrets.known).start)" }
        logger.debug(what, metadata: metadata)
    }
}

extension Message {
    /// A piece as if it were whole: a character that it cuts is shown as one that cannot be read.
    fileprivate init(_ chunk: MessageChunk) {
        self = chunk.kind == .text ? .text(String(decoding: chunk.bytes, as: UTF8.self)) : .binary(chunk.bytes)
    }
}
