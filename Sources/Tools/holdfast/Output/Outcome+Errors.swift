import ArgumentParser
import Holdfast
import HoldfastRooms
import HoldfastTerminal
import HoldfastWAMP

extension Outcome {
    /// The outcome as the exit status of a command.
    var code: ExitCode { ExitCode(rawValue) }

    /// Returns the outcome of an error.
    init(_ error: RoomsError) {
        self =
            switch error {
            case .badName, .badContent: .usage
            case .refused, .failed, .notQueued, .discarded, .unknownMessage: .refused
            case .store, .left, .closed: .failed
            case .connection(let error): Outcome(error)
            case .notAHub, .timedOut: .unreachable
            case .cancelled: .interrupted
            }
    }

    /// Returns the outcome of an error.
    init(_ error: WAMPError) {
        self =
            switch error.code {
            case .refused: .answeredWithError
            case .dismissed, .untrustedServer, .unsupported: .refused
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
