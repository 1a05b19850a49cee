import WebSocketCore
import WebSocketRuntime

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
