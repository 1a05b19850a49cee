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
