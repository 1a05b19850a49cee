import Dispatch
public import WebSocketCore
import WebSocketRuntime

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

/// Hands the events of a socket to a function on a queue, one at a time, until it is released.
final class QueueRelay: Sendable {
    private let isStopped = LockedValue(false)
    private let task: Task<Void, Never>

    /// Hears everything from now on; the socket waits while the queue does not keep up.
    init(_ socket: WebSocket, on queue: DispatchQueue, _ hear: @escaping @Sendable (WebSocketEvent) -> Void) {
        let subscription = Subscription(socket, .suspend(), .everything)
        // SAFETY: cancelled with this object, and it ends with the socket.
        task = Task { [isStopped] in
            while let event = await subscription.next() {
                await withCheckedContinuation { done in
                    queue.async {
                        // What was on its way when this was released is not heard any more.
                        if !isStopped.withLockedValue(\.self) { hear(event) }
                        done.resume()
                    }
                }
            }
        }
    }

    deinit {
        isStopped.withLockedValue { $0 = true }
        task.cancel()
    }
}

/// The messages of a ``WebSocket``, whichever connection they come over; see ``WebSocket/messages``.
public struct WebSocketInbox: AsyncSequence, Sendable {
    /// A whole message.
    public typealias Element = Message
    /// How it can fail.
    public typealias Failure = WebSocketError
    let socket: WebSocket
    let buffering: EventBuffering

    /// Starts to take messages.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: Subscription(socket, buffering, .messages)) }

    /// Takes messages one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// How it can fail.
        public typealias Failure = WebSocketError
        let subscription: Subscription

        /// Waits for the next message; nil after an end in peace, or when the task is cancelled.
        public mutating func next() async throws(WebSocketError) -> Message? { try await next(isolation: nil) }

        /// Waits for the next message; nil after an end in peace, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WebSocketError) -> Message? {
            try await subscription.nextMessage()
        }
    }
}

/// What happens, for any number of consumers.
///
/// Each loop over one of these sequences is a consumer with a buffer of its own. The first one sees everything from the start, a later
/// one what comes from then on; when the last one leaves, or its task is cancelled, what it had not taken waits for the next. A
/// consumer reads by itself when it has nothing to take and nobody else reads, so a lone one costs no task and no buffer. With nobody
/// to follow, nothing is read ahead beyond ``WebSocketLimits/receiveBuffer``, and after eight losses no further attempt is made until
/// somebody does.
///
/// The sequences keep the socket alive, and end when the task is cancelled.
extension WebSocket {
    /// What happens, in order, ending after ``WebSocketEvent/closed(_:)``; a consumer that is slow holds up the others and the peer.
    ///
    /// Messages of a connection come before the news of its loss.
    public var events: WebSocketEvents { events(buffering: .suspend()) }

    /// What happens, in order, ending after ``WebSocketEvent/closed(_:)``.
    ///
    /// - Parameter buffering: What becomes of events that come while the consumer is busy.
    public func events(buffering: EventBuffering) -> WebSocketEvents { WebSocketEvents(socket: self, buffering: buffering) }

    /// What the peer sends, whichever connection it comes over, and nothing else.
    ///
    /// Ends in peace when this side closed, or the peer did with 1000; otherwise throws why no further attempt is made. Answers to
    /// a ``request(_:matching:timeout:)-(Message,_,_)`` are not among them.
    public var messages: WebSocketInbox { messages(buffering: .suspend()) }

    /// What the peer sends, as ``messages``; that a message was dropped is not told.
    ///
    /// - Parameter buffering: What becomes of messages that come while the consumer is busy.
    public func messages(buffering: EventBuffering) -> WebSocketInbox { WebSocketInbox(socket: self, buffering: buffering) }
}
