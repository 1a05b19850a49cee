package import WebSocketCore

extension TransportError {
    /// What is told to whoever still wants something of a connection that was closed in peace.
    package static let closing = TransportError(.closed, "the connection was closed")

    /// The link ended, and nobody had said why.
    package static let hungUp = TransportError(.lost, "the link ended without a close handshake")

    /// What the end of a connection means to the app: nil where both sides parted in peace.
    package init?(ending record: CloseRecord) {
        guard record.isClean else {
            self = .hungUp
            return
        }
        let isPeaceful = record.closedFirst == .local || [.normal, .goingAway, .noStatus].contains(record.code)
        if isPeaceful { return nil }
        let reason = record.received.map(\.reason).flatMap { $0.isEmpty ? nil : ": \($0)" } ?? ""
        self.init(.closed, "the peer closed with \(record.code)\(reason)")
    }
}
