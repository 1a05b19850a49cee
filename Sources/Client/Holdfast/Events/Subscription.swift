import WebSocketCore

/// One consumer of a socket's events, from its beginning to the release of this object.
final class Subscription: Sendable {
    /// Kept alive, for without it nothing happens any more.
    let socket: WebSocket
    private let hub: EventHub
    private let party: EventHub.Share.Party

    init(_ socket: WebSocket, _ buffering: EventBuffering, _ interest: EventHub.Share.Interest, reports: Bool = false) {
        (self.socket, hub) = (socket, socket.hub)
        party = hub.subscribe(buffering, interest, reports: reports)
    }

    deinit { hub.leave(party) }

    /// Lends a message at hand, if this is the only consumer; otherwise what it is to do next.
    func borrow<Result>(_ body: (RawSpan, MessageKind) -> Result) -> (lent: Result?, turn: EventHub.Share.Turn) { hub.borrow(party, body) }

    /// Waits for the next event; nil after the last, or when the task is cancelled.
    ///
    /// - Parameter turn: What it was told to do next, if it has asked.
    func next(after turn: EventHub.Share.Turn? = nil, isolation actor: isolated (any Actor)? = #isolation) async -> WebSocketEvent? {
        // Each time: whoever is slower than the peer never waits, and would not hear of it. A turn that it was given comes first.
        if turn == nil, Task.isCancelled {
            hub.leave(party)
            return nil
        }
        let turn = turn ?? hub.turn(of: party)
        if case .event(let event) = turn { return event }
        return await hub.next(for: party, after: turn)
    }

    /// Waits for the next message; nil after the last, or when the task is cancelled, and throws if the end was not in peace.
    func nextMessage(
        after turn: EventHub.Share.Turn? = nil, isolation actor: isolated (any Actor)? = #isolation
    ) async throws(WebSocketError) -> Message? {
        var turn = turn
        while let event = await next(after: turn.take()) {
            switch event {
            case .message(let message): return message
            case .closed(let closure): if let error = closure.error { throw error }
            default: continue
            }
        }
        return nil
    }
}
