import NIOCore
import WebSocketCore
import WebSocketRuntime

extension WebSocketHandler {
    /// The app asks to close.
    func close(_ frame: CloseFrame) {
        feedClosing(.close(frame))
        finishTurn()
    }

    /// The peer broke a rule: say which, and end (RFC 6455 §7.1.7).
    func fail(_ violation: ProtocolViolation) {
        isDiscarding = true
        let error = TransportError(.protocolViolation, "the peer broke the protocol: \(violation)", underlying: violation)
        if failure == nil { failure = error }
        outbound.finish(error, discarding: true)
        feedClosing(.fail(CloseFrame(violation.closeCode, reason: violation.description)))
    }

    func transportEnded() {
        deliver()
        feedClosing(.transportEnded)
    }

    func feedClosing(_ input: CloseHandshake.Input) {
        var effects: [CloseHandshake.Effect] = []
        closing.handle(input, at: now, into: &effects)
        perform(effects)
    }

    func perform(_ effects: [CloseHandshake.Effect]) {
        for effect in effects {
            switch effect {
            case .sendClose(let frame):
                closeFrameToSend = frame
                outbound.finish(failure ?? .closing, discarding: false)
                drain()
            case .endOutput: endOutput()
            case .endTransport: context?.close(promise: nil)
            case .finished(let record): finish(record)
            }
        }
        setAlarm()
    }

    private func finish(_ record: CloseRecord) {
        deliver()
        var error = failure ?? TransportError(ending: record)
        error?.record = record
        inbound.finish(error.map { .failure($0) } ?? .success(()))
        outbound.finish(error ?? .closing, discarding: false)
        feedHeartbeat(.ended)
        onFinished((record, error))
    }
}

extension TransportError {
    static let closing = TransportError(.closed, "the connection was closed")

    /// What the end means to the app: nil where both sides parted in peace.
    init?(ending record: CloseRecord) {
        guard record.isClean else {
            self.init(.lost, "the link ended without a close handshake")
            return
        }
        let isPeaceful = record.closedFirst == .local || [.normal, .goingAway, .noStatus].contains(record.code)
        if isPeaceful { return nil }
        let reason = record.received.map(\.reason).flatMap { $0.isEmpty ? nil : ": \($0)" } ?? ""
        self.init(.closed, "the peer closed with \(record.code)\(reason)")
    }
}
