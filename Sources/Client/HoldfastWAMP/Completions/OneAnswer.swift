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
        while true {
            let version = changes.version
            if let answer = result.withLockedValue(\.self) { return try answer.get() }
            try Task.checkCancellation()
            await changes.next(after: version)
        }
    }
}
