package import WebSocketCore

extension TransportError {
    /// What is told to whoever still wants something of a connection that was closed in peace.
    package static let closing = TransportError(.closed, "the connection was closed")

    /// The link ended, and nobody had said why.
    package static let hungUp = TransportError(.lost, "the link ended without a close handshake")

    /// What a violation of the peer's means to the app.
    package init(_ violation: ProtocolViolation) {
        let words = violation.kind == .messageTooBig ? "the peer sent too much at once" : "the peer broke the protocol"
        self.init(.protocolViolation, "\(words): \(violation)", underlying: violation)
    }

    /// What the end of a connection means to the app: nil where both sides parted in peace.
    package init?(ending record: CloseRecord) {
        guard record.isClean else {
            self = .hungUp
            return
        }
        let isPeaceful = record.closedFirst == .local || [.normal, .goingAway, .noStatus].contains(record.code)
        if isPeaceful { return nil }
        // Not what it gave: a peer may repeat a secret.
        let reason = record.received?.reason.isEmpty ?? true ? "" : ", and gave a reason"
        self.init(.closed, "the peer closed with \(record.code)\(reason)")
    }
}
