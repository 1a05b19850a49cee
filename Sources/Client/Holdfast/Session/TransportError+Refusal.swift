import SessionCore
import WebSocketRuntime

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
