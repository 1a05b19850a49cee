import SessionCore
import WebSocketCore
import WebSocketRuntime

extension Loss {
    /// Creates the loss for the reconnect decision from an error or a clean end.
    init(_ error: TransportError) {
        self.init(LossCause(error), retryAfter: error.response?.headers.retryAfter, wasIdle: error.wasIdle)
    }
}

extension LossCause {
    init(_ error: TransportError) {
        self =
            switch error.code {
            case .refused: .refused(status: error.response?.status ?? 0)
            case .closed: error.record.map { .closed($0.code, by: $0.closedFirst ?? .remote) } ?? .lost
            case .unresponsive: .unresponsive
            case .stalled: .stalled
            case .timedOut: .timedOut
            case .unresolved: .unresolved
            // If the proxy cannot reach the server, treat it as unreachable. If the proxy refuses, a retry gets the same answer.
            case .proxyFailed: (error.underlying as? ProxyFailure)?.kind == .serverUnreachable ? .unreachable : .invalidConfiguration
            case .unreachable: .unreachable
            case _ where TransportError.Code.trustFailures.contains(error.code): .tls
            case .invalidHandshake: .invalidHandshake
            case .protocolViolation where (error.underlying as? ProtocolViolation)?.kind == .messageTooBig: .messageTooBig
            case .protocolViolation: .protocolViolation
            case .invalidURL, .invalidConfiguration: .invalidConfiguration
            default: .lost
            }
    }
}

extension TransportError {
    /// Creates the error for the sender of a message that was never sent.
    ///
    /// - Parameter cause: Why there is no connection, if there is none; the text of the error includes it.
    init(_ refusal: SendRefusal, cause: WebSocketError?) {
        let (code, words): (Code, String) =
            switch refusal {
            case .overflow: (.queueFull, "the queue is full")
            case .dropped: (.dropped, "it gave way to others")
            case .tooLarge: (.tooLarge, "it is larger than the queue")
            case .timedOut: (.timedOut, "no connection took it in time")
            case .disconnected: (.disconnected, "there is no connection")
            case .withdrawn: (.cancelled, "its sender was cancelled")
            case .closed: (.closed, "the socket is closed")
            }
        let cause = refusal == .withdrawn ? nil : cause
        self.init(code, "the message was not sent: \(words)\(cause.inBrackets)", underlying: cause)
    }

    /// Returns the error for calls on a closed socket.
    ///
    /// - Parameter cause: Why it is closed; nil if this side has closed it.
    static func socketClosed(_ cause: WebSocketError?) -> TransportError {
        TransportError(.closed, "the socket is closed\(cause.inBrackets)", underlying: cause)
    }

    /// Returns the error for a request that got no answer in time.
    ///
    /// - Parameter cause: Why there is no connection, if there is none.
    static func unanswered(within time: Duration, _ cause: WebSocketError?) -> TransportError {
        TransportError(.timedOut, "there was no answer within \(time)\(cause.inBrackets)", underlying: cause)
    }
}

extension Optional<WebSocketError> {
    /// The text of the cause in brackets, to append to the text of another error.
    fileprivate var inBrackets: String { map { " (\($0.words))" } ?? "" }
}
