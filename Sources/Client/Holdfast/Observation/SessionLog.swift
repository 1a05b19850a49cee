import Logging
import SessionCore
import WebSocketCore
import WebSocketRuntime

/// The log of a session: which lines there are, at which level, and with which metadata.
///
/// ``PayloadLog`` logs messages. These lines never contain a payload, a header field, a query or a subprotocol, because any of them may be
/// secret. They also contain no text of the peer, such as a close reason, because a peer may repeat a secret.
struct SessionLog: Sendable {
    let logger: Logger
    /// The URLs without secrets, in the order of the endpoints.
    let endpoints: [String]

    func endpoint(_ index: Int) -> String? { endpoints.indices.contains(index) ? endpoints[index] : nil }

    func connecting(_ attempt: WebSocketAttempt) { logger.debug("connecting", metadata: metadata(attempt)) }

    func opened(_ attempt: WebSocketAttempt, handshake: Duration, isCompressed: Bool) {
        logger.info(
            "connected",
            metadata: metadata(attempt).merging(["handshake": "\(handshake)", "compression": "\(isCompressed)"]) { $1 })
    }

    func ended(_ cause: WebSocketError?, wasOpen: Bool, isForgotten: Bool, _ record: CloseRecord?) {
        if isForgotten {
            // The session ended it: closed by the app, handed over, in the background, or given up.
            if wasOpen { logger.info("disconnected", metadata: record.map { metadata($0) } ?? [:]) }
        } else if let cause {
            if wasOpen { logger.notice("connection lost", metadata: metadata(cause)) } else { failed(cause) }
        }
    }

    func failed(_ error: WebSocketError) { logger.info("could not connect", metadata: metadata(error)) }

    func entered(_ state: WebSocketState) {
        switch state {
        case .waiting(let until, _): logger.debug("waiting", metadata: ["delay": "\(ContinuousClock.now.duration(to: until))"])
        case .closed(nil): logger.info("closed")
        case .closed(let error?): logger.error("given up", metadata: metadata(error))
        case .disconnected, .connecting, .connected, .held, .closing:
            logger.trace("state", metadata: ["state": "\(state.label ?? "")"])
        }
    }

    func roundTrip(_ time: Duration) { logger.trace("round trip", metadata: ["rtt": "\(time)"]) }

    /// Logs dropped messages only when the total passes a power of two, because a full queue may drop many in a second.
    func dropped(_ count: Int, total: Int) {
        guard total.leadingZeroBitCount != (total - count).leadingZeroBitCount else { return }
        logger.notice("messages dropped", metadata: ["total": "\(total)"])
    }

    func carried(_ traffic: LinkTraffic) {
        logger.trace(
            "carried",
            metadata: [
                "bytes_in": "\(traffic.bytesIn)", "bytes_out": "\(traffic.bytesOut)", "messages_in": "\(traffic.messagesIn)",
                "messages_out": "\(traffic.messagesOut)",
            ])
    }

    private func metadata(_ attempt: WebSocketAttempt) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["attempt": "\(attempt.number)"]
        if let url = endpoint(attempt.endpoint) { metadata["url"] = "\(url)" }
        return metadata
    }

    private func metadata(_ error: WebSocketError) -> Logger.Metadata {
        var metadata: Logger.Metadata = error.closeRecord.map { self.metadata($0) } ?? [:]
        metadata["error"] = "\(error.code)"
        if let status = error.httpStatus { metadata["status"] = "\(status)" }
        if error.hasOwnWords { metadata["detail"] = "\(error.transport.detail)" }
        return metadata
    }

    private func metadata(_ record: CloseRecord) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["code": "\(record.code)"]
        if let side = record.closedFirst { metadata["closed_by"] = side == .local ? "this side" : "the peer" }
        return metadata
    }
}

extension WebSocketError {
    /// Whether the detail contains only text of this package, and none of a peer or the app.
    fileprivate var hasOwnWords: Bool {
        [.unresolved, .unreachable, .timedOut, .tls, .lost, .unresponsive, .stalled, .noCredential].contains(code)
    }
}

extension WebSocketState {
    /// The name of the state in logs and metrics; nil for closed.
    var label: String? {
        switch self {
        case .disconnected: "disconnected"
        case .connecting: "connecting"
        case .connected: "connected"
        case .waiting: "waiting"
        case .held: "held"
        case .closing: "closing"
        case .closed: nil
        }
    }

    /// All labels.
    static let labels = ["disconnected", "connecting", "connected", "waiting", "held", "closing"]
}

/// Logs the beginning of each message without secrets, if the app wants that.
struct PayloadLog: Sendable {
    /// The number of bytes shown of a message.
    static let limit = 64
    private let logger: Logger
    private let secrets: SessionSecrets

    /// Creates the log; nil if messages are not to be logged.
    init?(_ options: WebSocketOptions, _ secrets: SessionSecrets) {
        guard options.logsPayloads, options.logger.logLevel <= .debug else { return nil }
        (logger, self.secrets) = (options.logger, secrets)
    }

    /// Returns the same connection with logged messages.
    func watching(_ connection: WebSocketConnection) -> WebSocketConnection {
        connection.over(LoggedTransport(connection.transport, self))
    }

    func sent(_ message: Message) { log("message sent", message.kind, message.byteCount, beginning: message) }
    func received(_ message: Message) { log("message received", message.kind, message.byteCount, beginning: message) }
    func sent(_ chunk: MessageChunk, isFirst: Bool) { log("piece sent", chunk, isFirst) }
    func received(_ chunk: MessageChunk, isFirst: Bool) { log("piece received", chunk, isFirst) }

    /// Logs a piece; shows nothing of later pieces, because a secret in one may begin, or be named, in an earlier piece.
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
    /// Creates a message from a piece; a cut character is shown as unreadable.
    fileprivate init(_ chunk: MessageChunk) {
        self = chunk.kind == .text ? .text(String(decoding: chunk.bytes, as: UTF8.self)) : .binary(chunk.bytes)
    }
}

/// Wraps a transport and logs its messages; used only if the app logs payloads, so it costs others nothing.
final class LoggedTransport: MessageTransport {
    let base: any MessageTransport
    private let log: PayloadLog
    /// The tickets of messages of which no piece was sent yet.
    private let unused = LockedValue<Set<MessageTicket>>([])
    /// Whether more pieces follow the last piece received.
    private let isAmidst = LockedValue(false)

    init(_ base: any MessageTransport, _ log: PayloadLog) { (self.base, self.log) = (base, log) }

    var agreement: Agreement { base.agreement }
    var role: Role { base.role }
    var closeRecord: CloseRecord? { base.closeRecord }
    var traffic: LinkTraffic { base.traffic }

    func ended() async -> Result<CloseRecord, TransportError> { await base.ended() }

    func receive() async throws(TransportError) -> Received? {
        let received = try await base.receive()
        switch received {
        case .message(let message): log.received(message)
        case .chunk(let chunk):
            let isFirst = isAmidst.withLockedValue { isAmidst in
                defer { isAmidst = !chunk.isLast }
                return !isAmidst
            }
            log.received(chunk, isFirst: isFirst)
        case nil: break
        }
        return received
    }

    func send(_ message: Message) async throws(TransportError) {
        try await base.send(message)
        log.sent(message)
    }

    func offer(_ message: Message) throws(TransportError) -> Bool {
        let isAccepted = try base.offer(message)
        if isAccepted { log.sent(message) }
        return isAccepted
    }

    func beginMessage() async throws(TransportError) -> MessageTicket {
        let ticket = try await base.beginMessage()
        unused.withLockedValue { _ = $0.insert(ticket) }
        return ticket
    }

    func send(_ chunk: MessageChunk, of ticket: MessageTicket) async throws(TransportError) {
        let isFirst = unused.withLockedValue { $0.remove(ticket) != nil }
        try await base.send(chunk, of: ticket)
        log.sent(chunk, isFirst: isFirst)
    }

    func abandon(_ ticket: MessageTicket) {
        unused.withLockedValue { _ = $0.remove(ticket) }
        base.abandon(ticket)
    }

    func whenWritten(_ body: @escaping @Sendable (_ isWritten: Bool) -> Void) { base.whenWritten(body) }
    func ping(timeout: Duration) async throws(TransportError) -> Duration { try await base.ping(timeout: timeout) }
    func probe() { base.probe() }
    func setPingInterval(_ interval: Duration?) { base.setPingInterval(interval) }
    func observe(_ observer: (any LinkObserver)?) { base.observe(observer) }
    func close(_ frame: CloseFrame) async -> CloseRecord { await base.close(frame) }
    func abort() { base.abort() }
}

extension MessageTransport {
    /// The transport that carries the messages, without the logging wrapper.
    var carrier: any MessageTransport { (self as? LoggedTransport)?.base ?? self }
}
