import DequeModule
import Holdfast
import WebSocketRuntime
import WAMPCore

/// Where parts of one call wait for their one consumer: of its result with the caller, of its input with the callee.
final class CallMailbox: Sendable {
    struct Part: Sendable {
        let arguments: WAMPArguments
        let isFinal: Bool
    }
    private struct State {
        var parts: Deque<Part> = []
        var end: Result<Void, WAMPError>?
    }
    /// How many parts may wait.
    static let standardCapacity = 4096

    let changes = Changes()
    private let capacity: Int
    private let state = LockedValue(State())

    init(capacity: Int) { self.capacity = capacity }

    /// Adds a part; ``changes`` are to be announced without any lock.
    ///
    /// False if there is no room.
    @discardableResult func push(_ arguments: WAMPArguments, isFinal: Bool) -> Bool {
        state.withLockedValue { state in
            guard state.end == nil else { return true }
            guard isFinal || state.parts.count < capacity else { return false }
            state.parts.append(Part(arguments: arguments, isFinal: isFinal))
            return true
        }
    }

    /// How it ended; nil while more may come.
    var end: Result<Void, WAMPError>? { state.withLockedValue(\.end) }

    /// No more comes.
    func finish(_ end: Result<Void, WAMPError>) {
        state.withLockedValue { $0.end = $0.end ?? end }
        changes.announce()
    }

    /// Waits for the next part; nil after the last, or when the task is cancelled.
    func next() async throws(WAMPError) -> Part? {
        while !Task.isCancelled {
            let version = changes.version
            let (part, end) = state.withLockedValue { ($0.parts.popFirst(), $0.end) }
            if let part { return part }
            if let end {
                try end.get()
                return nil
            }
            await changes.next(after: version)
        }
        return nil
    }
}
