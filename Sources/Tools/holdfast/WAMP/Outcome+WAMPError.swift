import Holdfast
import HoldfastWAMP

extension Outcome {
    /// How a failure counts.
    init(_ error: WAMPError) {
        self =
            switch error.code {
            case .refused: .answeredWithError
            case .dismissed, .imposter, .unsupported: .refused
            case .timedOut: error.wasSent == false ? .unreachable : .unanswered
            case .notJoined: .unreachable
            case .connectionLost: .lost
            case .connection: (error.underlying as? WebSocketError).map { Outcome($0) } ?? .lost
            case .cancelled: .interrupted
            case .invalidURI, .unencodable: .usage
            default: .failed
            }
    }
}
