import ArgumentParser
import Holdfast
import HoldfastRooms
import HoldfastTerminal
import HoldfastWAMP

extension Outcome {
    /// The outcome as the exit status of a command.
    var code: ExitCode { ExitCode(rawValue) }

    /// Runs the body until it is done, a signal arrives, or the time is over.
    ///
    /// - Parameters:
    ///   - duration: The time; nil: no limit.
    ///   - tell: Prints an error of the body, and returns its outcome.
    ///   - body: What to do; it may throw an `ExitCode` for what it has already printed.
    static func ofClient(
        for duration: Duration?, tell: @escaping @Sendable (any Error) -> Outcome, _ body: @escaping @Sendable () async throws -> Void
    ) async -> Outcome {
        await withTaskGroup(of: Outcome?.self) { group in
            group.addTask {
                do {
                    try await body()
                    return .clean
                } catch {
                    return (error as? ExitCode).flatMap { Outcome(rawValue: $0.rawValue) } ?? tell(error)
                }
            }
            group.addTask { await Signals.firstEnding() }
            if let duration { group.addTask { (try? await Task.sleep(for: duration)) == nil ? nil : .clean } }
            var outcome: Outcome?
            while outcome == nil, let next = await group.next() { outcome = next }
            group.cancelAll()
            return outcome ?? .failed
        }
    }

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
