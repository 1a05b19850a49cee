import SessionCore
import WebSocketCore
import WebSocketRuntime

/// Whether the present connection lives, and how long a round trip takes.
extension LiveSession {
    /// A ping of the connection of this generation was answered; called on its own thread.
    nonisolated func noteRoundTrip(_ time: Duration, isAutomatic: Bool, generation: UInt64) {
        instruments.roundTrip(time)
        held.roundTrip(time)
        guard isAutomatic else { return }
        // SAFETY: one step of the session; automatic pings are rare.
        Task { await note(.answered(generation: generation)) }
    }

    /// Asks the present connection; if there is none, nobody waits for one.
    func ping(timeout: Duration?) async throws(WebSocketError) -> Duration {
        if let usable { return try await usable.ping(timeout: timeout) }
        if isClosed || isStopping { throw closedError }
        let words = obstacle.map { " (\($0.words))" } ?? ""
        throw WebSocketError(TransportError(.unreachable, "there is no connection to ping\(words)", underlying: obstacle))
    }
}

/// Tells a session what a connection of its measures.
final class LinkWitness: LinkObserver {
    private let session: LiveSession
    private let generation: UInt64

    init(_ session: LiveSession, generation: UInt64) { (self.session, self.generation) = (session, generation) }

    func roundTrip(_ time: Duration, isAutomatic: Bool) {
        session.noteRoundTrip(time, isAutomatic: isAutomatic, generation: generation)
    }
}
