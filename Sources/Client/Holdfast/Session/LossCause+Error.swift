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
