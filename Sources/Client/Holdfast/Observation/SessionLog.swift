import Logging
import SessionCore
import WebSocketCore
import WebSocketRuntime

/// The lines of a session's log: which there are, at which level, and what may stand in them.
///
/// Messages are the ``PayloadLog``'s. Here stands never a payload, a header field, a query or a subprotocol, for any of them may be secret;
/// and no words of the peer's, such as the reason of a close frame, for a peer may repeat a secret.
struct SessionLog: Sendable {
    let logger: Logger
    /// The URLs without what may be secret, in the order of the endpoints.
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
            // The session's own doing: closed by the app, handed over, in the background, or given up.
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

    /// Not a line for each: a queue that is full may drop many in a second.
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
    /// Its detail was written here, out of nothing that a peer or the app has said.
    fileprivate var hasOwnWords: Bool {
        [.unresolved, .unreachable, .timedOut, .tls, .lost, .unresponsive, .stalled, .noCredential].contains(code)
    }
}

extension WebSocketState {
    /// What it is called in logs and metrics; nil when it is over.
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

    /// All that there are.
    static let labels = ["disconnected", "connecting", "connected", "waiting", "held", "closing"]
}

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

/// Another transport, whose messages are logged; there is one only where the app wants that, so it costs others nothing.
final class LoggedTransport: MessageTransport {
    let base: any MessageTransport
    private let log: PayloadLog
    /// The rights to send a message of which no piece is out.
    private let unused = LockedValue<Set<MessageTicket>>([])
    /// Whether the last piece received is to be followed by more of its message.
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
    /// What carries the messages, whether or not they are logged on the way.
    var carrier: any MessageTransport { (self as? LoggedTransport)?.base ?? self }
}
