import SessionCore
import WebSocketCore
import WebSocketRuntime

extension Loss {
    /// What an error, or a clean end, means to whoever decides whether to connect again.
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
            // What the proxy could not reach is as if we could not; what it does not want, it will not want again.
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
    /// What a sender is told whose message never left.
    ///
    /// - Parameter cause: Why there is no connection, if there is none; it is told in its own words.
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

    /// What is told to whoever still wants something of a socket that is closed.
    ///
    /// - Parameter cause: Why it is closed; nil if this side has closed it.
    static func socketClosed(_ cause: WebSocketError?) -> TransportError {
        TransportError(.closed, "the socket is closed\(cause.inBrackets)", underlying: cause)
    }

    /// What is told to whoever waited for an answer.
    ///
    /// - Parameter cause: Why there is no connection, if there is none.
    static func unanswered(within time: Duration, _ cause: WebSocketError?) -> TransportError {
        TransportError(.timedOut, "there was no answer within \(time)\(cause.inBrackets)", underlying: cause)
    }
}

extension Optional<WebSocketError> {
    /// The cause of another error, to be put behind that one's words.
    fileprivate var inBrackets: String { map { " (\($0.words))" } ?? "" }
}
