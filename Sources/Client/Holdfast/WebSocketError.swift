import Foundation
import SessionCore
public import WebSocketCore
public import WebSocketRuntime

/// The error of a WebSocket that could not connect, or whose connection failed.
public struct WebSocketError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public typealias Code = TransportError.Code

    /// The error of the transport with all details.
    public let transport: TransportError

    /// Creates an error from an error of the transport.
    public init(_ transport: TransportError) { self.transport = transport }

    /// The kind of failure.
    public var code: Code { transport.code }
    /// The HTTP status, if the server refused the upgrade.
    public var httpStatus: Int? { transport.response?.status }
    /// The header fields, if the server refused the upgrade.
    public var responseHeaders: HeaderFields { transport.response?.headers ?? [:] }
    /// The authentication challenges of the server if it refused the upgrade with 401.
    public var challenges: [AuthenticationChallenge] { httpStatus == 401 ? AuthenticationChallenge.all(in: responseHeaders) : [] }
    /// The first bytes of the body, if the server refused the upgrade; see ``WebSocketLimits/refusalBody``.
    public var body: [UInt8] { transport.body }
    /// The close codes of both sides and which side closed first, if the connection was open.
    public var closeRecord: CloseRecord? { transport.record }
    /// The error of the layer below: a ``ProtocolViolation``, a ``HandshakeFailure``, or one of TLS, the system or the app's provider.
    ///
    /// If a message was not sent or a request not answered while there was no connection, this is the last ``WebSocketError`` of the connection.
    public var underlying: (any Error)? { transport.underlying }

    /// Whether another attempt may succeed without any change by the user or the app.
    ///
    /// Follows `LossTable.standard`. A cancelled wait and a send on a closed socket are not retryable.
    public var isRetryable: Bool {
        switch code {
        case .cancelled, .noCredential, .tooLarge, .codec: false
        case .closed where closeRecord == nil: false
        default: LossTable.standard[LossCause(transport)] == .retry
        }
    }

    /// A text that says what failed, where, and whether a retry may help.
    ///
    /// It contains no secrets, unless the app's credential provider threw an error that contains one.
    public var description: String { "\(words)\(isRetryable ? "; may be retried" : "")" }

    /// What failed and where, followed by the error of the credential provider if the provider failed.
    package var words: String {
        guard code == .noCredential, let underlying else { return transport.detail }
        return "\(transport.detail): \(Self.words(of: underlying))"
    }

    /// Returns the text of the app's error, at most 200 characters.
    ///
    /// For system errors it returns only the localized description, because the full text may contain a URL.
    private static func words(of error: any Error) -> String {
        let isForPeople = error is any LocalizedError || error is any CustomNSError || type(of: error) is NSError.Type
        let text = isForPeople ? error.localizedDescription : "\(error)"
        return text.count > 200 ? text.prefix(200) + "…" : text
    }
}

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
            case .invalidHandshake, .noSubprotocol: .invalidHandshake
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
