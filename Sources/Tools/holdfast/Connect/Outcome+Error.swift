import Holdfast

extension Outcome {
    /// How a failure counts.
    init(_ error: WebSocketError) {
        self =
            switch error.code {
            case .invalidURL, .invalidConfiguration: .usage
            case .unresolved, .unreachable, .timedOut: .unreachable
            case _ where WebSocketError.Code.trustFailures.contains(error.code): .tls
            case .refused, .invalidHandshake: .refused
            case .protocolViolation: .violation
            case .closed: error.closeRecord.map(Outcome.init(closing:)) ?? .lost
            case .lost, .unresponsive, .stalled: .lost
            case .cancelled: .interrupted
            default: .failed
            }
    }
}
