import Dispatch
public import WebSocketCore
import WebSocketRuntime

/// One consumer of a socket's events, from its creation to the release of this object.
final class EventConsumer: Sendable {
    /// The socket, kept alive because it produces the events.
    let socket: WebSocket
    private let hub: EventHub
    private let consumer: EventHub.Share.Party

    init(_ socket: WebSocket, _ buffering: EventBuffering, _ interest: EventHub.Share.Interest, reports: Bool = false) {
        (self.socket, hub) = (socket, socket.hub)
        consumer = hub.subscribe(buffering, interest, reports: reports)
    }

    deinit { hub.leave(consumer) }

    /// Lends a ready message, if this is the only consumer; otherwise returns what the consumer has to do next.
    func borrow<Result>(_ body: (RawSpan, MessageKind) -> Result) -> (lent: Result?, turn: EventHub.Share.Turn) {
        hub.borrow(consumer, body)
    }

    /// Waits for the next event; nil after the last, or when the task is cancelled.
    ///
    /// - Parameters:
    ///   - turn: The consumer's turn, if it has already asked for one.
    ///   - idle: Called before it waits, or may have to.
    func next(
        after turn: EventHub.Share.Turn? = nil, isolation actor: isolated (any Actor)? = #isolation, idle: () -> Void = {}
    ) async -> WebSocketEvent? {
        // Checked at each call, because a consumer that is slower than the peer never waits. A turn already given comes first.
        if turn == nil, Task.isCancelled {
            hub.leave(consumer)
            return nil
        }
        let turn = turn ?? hub.turn(of: consumer)
        if case .event(let event) = turn { return event }
        idle()
        return await hub.next(for: consumer, after: turn)
    }

    /// Waits for the next message; nil after a normal end or a cancellation; throws after any other end.
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

/// Calls a function on a queue with each event of a socket, one at a time, until it is released.
final class QueueRelay: Sendable {
    private let isStopped = LockedValue(false)
    private let task: Task<Void, Never>

    /// Starts to deliver all events from now on; the socket waits while the queue is busy.
    init(_ socket: WebSocket, on queue: DispatchQueue, _ handle: @escaping @Sendable (WebSocketEvent) -> Void) {
        let subscription = EventConsumer(socket, .suspend(), .everything)
        // SAFETY: cancelled with this object, and it ends with the socket.
        task = Task { [isStopped] in
            while let event = await subscription.next() {
                await withCheckedContinuation { done in
                    queue.async {
                        // Do not deliver an event that was already dispatched when the relay was released.
                        if !isStopped.withLockedValue({ $0 }) { handle(event) }
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

/// The messages of a ``WebSocket`` from all of its connections; see ``WebSocket/messages``.
public struct WebSocketInbox: AsyncSequence, Sendable {
    /// A whole message.
    public typealias Element = Message
    /// The error after which the sequence ends.
    public typealias Failure = WebSocketError
    let socket: WebSocket
    let buffering: EventBuffering

    /// Starts to take messages.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: EventConsumer(socket, buffering, .messages)) }

    /// Iterates over the messages.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The error after which the sequence ends.
        public typealias Failure = WebSocketError
        let subscription: EventConsumer

        /// Waits for the next message; nil after a normal end, or when the task is cancelled.
        public mutating func next() async throws(WebSocketError) -> Message? { try await next(isolation: nil) }

        /// Waits for the next message; nil after a normal end, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WebSocketError) -> Message? {
            try await subscription.nextMessage()
        }
    }
}

/// Events and messages, for any number of consumers.
///
/// Each loop over one of these sequences is a consumer with its own buffer. The first consumer sees everything from the start, a later
/// one only what comes from then on. When the last consumer leaves, or its task is cancelled, the events that it had not taken wait for the
/// next one. A consumer reads by itself when it has nothing to take and no other party reads, so a single consumer costs no task and no
/// buffer. Without a consumer the socket reads no more than ``WebSocketLimits/receiveBuffer`` ahead, and after eight lost connections it
/// makes no further attempt until there is a consumer.
///
/// The sequences keep the socket alive, and end when the task is cancelled.
extension WebSocket {
    /// All events in order, up to ``WebSocketEvent/closed(_:)``; a slow consumer slows down the other consumers and the peer.
    ///
    /// The messages of a connection come before the event of its loss.
    public var events: WebSocketEvents { events(buffering: .suspend()) }

    /// Returns all events in order, up to ``WebSocketEvent/closed(_:)``.
    ///
    /// - Parameter buffering: What happens to events that arrive while the consumer is busy.
    public func events(buffering: EventBuffering) -> WebSocketEvents { WebSocketEvents(socket: self, buffering: buffering) }

    /// The messages of the peer from all connections, without other events.
    ///
    /// The sequence ends normally when this side closed, or the peer did with 1000; otherwise it throws the reason why the socket makes no
    /// further attempt. It does not contain answers to a ``request(_:matching:timeout:)-(Message,_,_)``.
    public var messages: WebSocketInbox { messages(buffering: .suspend()) }

    /// Returns the messages of the peer, as ``messages`` does; dropped messages are not reported.
    ///
    /// - Parameter buffering: What happens to messages that arrive while the consumer is busy.
    public func messages(buffering: EventBuffering) -> WebSocketInbox { WebSocketInbox(socket: self, buffering: buffering) }
}
