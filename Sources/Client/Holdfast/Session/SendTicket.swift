import WebSocketRuntime
import SessionCore
import WebSocketCore

/// A message that could not go out at once.
final class SendTicket: Sendable {
    /// How it left the queue.
    enum End: Sendable {
        case taken(WriteTrail, serial: UInt64?)
        case refused(SendRefusal)
    }
    private struct State {
        var end: End?
        /// Its sender has gone on, so that nobody else tells what becomes of it.
        var isLeft = false
    }
    let id: UInt64
    let message: Message
    let lane: Lane
    private let state = LockedValue(State())
    private let changes = Changes()

    init(id: UInt64, _ message: Message, _ lane: Lane) { (self.id, self.message, self.lane) = (id, message, lane) }

    /// Says how it ended; only the first counts.
    ///
    /// - Returns: Whether its sender has gone on.
    @discardableResult func finish(_ end: End) -> Bool {
        let isLeft = state.withLockedValue { state in
            if state.end == nil { state.end = end }
            return state.isLeft
        }
        changes.announce()
        return isLeft
    }

    /// Goes on without waiting; returns how it has ended, if it has.
    func leave() -> End? {
        state.withLockedValue { state in
            if state.end == nil { state.isLeft = true }
            return state.end
        }
    }

    /// Waits for its end; nil if the task is cancelled.
    func end() async -> End? {
        while true {
            let version = changes.version
            if let end = state.withLockedValue(\.end) { return end }
            if Task.isCancelled { return nil }
            await changes.next(after: version)
        }
    }

    /// Waits for its end, also when the task is cancelled.
    func endForSure() async -> End? {
        // SAFETY: ends with this function, and that with the send: taken or refused, at the latest when its socket ends.
        await Task { await end() }.value
    }
}
