import HoldfastRooms

extension Outcome {
    /// How a failure counts.
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
}
