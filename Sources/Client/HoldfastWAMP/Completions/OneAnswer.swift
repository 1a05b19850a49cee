import Holdfast
import WebSocketRuntime
import WAMPCore

/// An answer that is given once, from anywhere, and waited for by one task.
final class OneAnswer<Value: Sendable>: Sendable {
    private let result = LockedValue<Result<Value, any Error>?>(nil)
    private let changes = Changes()

    /// Only the first counts.
    func give(_ answer: Result<Value, any Error>) {
        result.withLockedValue { $0 = $0 ?? answer }
        changes.announce()
    }

    /// Waits for the answer; throws when the task is cancelled.
    func wait() async throws -> Value {
        guard let answer = await changes.first({ result.withLockedValue(\.self) }) else { throw CancellationError() }
        return try answer.get()
    }
}
