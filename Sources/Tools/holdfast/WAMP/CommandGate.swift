import WebSocketRuntime

/// Lets so many commands run at once; others wait for their turn, in the order in which they came.
final class CommandGate: Sendable {
    private struct State {
        var running = 0
        var waiting: [(number: UInt64, continuation: CheckedContinuation<Void, any Error>)] = []
        /// Counts those that came; those that were cancelled before they waited stand in `cancelled`.
        var count: UInt64 = 0
        var cancelled: Set<UInt64> = []
    }
    private let most: Int
    private let waits: @Sendable () -> Void
    private let state = LockedValue(State())

    /// A gate; `waits` is told of each that has to wait.
    init(most: Int, waits: @escaping @Sendable () -> Void = {}) { (self.most, self.waits) = (most, waits) }

    /// Runs the body when it is its turn; a task that is cancelled before gives its place up.
    ///
    /// - Throws: A `CancellationError`, or what the body throws.
    func run<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        try await enter()
        defer { leave() }
        return try await body()
    }

    /// How many run, and how many wait.
    var load: (running: Int, waiting: Int) { state.withLockedValue { ($0.running, $0.waiting.count) } }

    private func enter() async throws {
        let number = state.withLockedValue { state in
            state.count += 1
            return state.count
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let turn: Swift.Result<Void, any Error>? = state.withLockedValue { state in
                    if state.cancelled.remove(number) != nil { return .failure(CancellationError()) }
                    guard state.running >= most else {
                        state.running += 1
                        return .success(())
                    }
                    state.waiting.append((number, continuation))
                    return nil
                }
                if let turn { continuation.resume(with: turn) } else { waits() }
            }
        } onCancel: {
            let waiting = state.withLockedValue { state in
                guard let place = state.waiting.firstIndex(where: { $0.number == number }) else {
                    state.cancelled.insert(number)
                    return CheckedContinuation<Void, any Error>?.none
                }
                return state.waiting.remove(at: place).continuation
            }
            waiting?.resume(throwing: CancellationError())
        }
        state.withLockedValue { _ = $0.cancelled.remove(number) }
    }

    private func leave() {
        let next = state.withLockedValue { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst().continuation as CheckedContinuation<Void, any Error>? }
            state.running -= 1
            return nil
        }
        next?.resume()
    }
}
