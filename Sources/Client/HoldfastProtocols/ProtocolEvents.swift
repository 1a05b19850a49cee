public import Holdfast

/// Events of a ``ProtocolClient`` for one consumer; see ``ProtocolClient/stream(delivery:_:cancel:)``.
///
/// It ends in peace after the last event of its request, if this side closes, and if the peer closes with 1000. Otherwise it throws the error of the
/// socket. Once the sequence and its iterator are gone, the rules hear that nobody wants the events any more.
public struct ProtocolEvents<Event: Sendable>: AsyncSequence, Sendable {
    /// An event of the rules.
    public typealias Element = Event
    /// How the socket can end.
    public typealias Failure = WebSocketError
    private let subscription: EventSubscription<Event>

    init(
        _ mailbox: StreamMailbox<Event, Event>, _ relief: Changes, holding client: any AnyObject & Sendable,
        leave: @escaping @Sendable () -> Void
    ) {
        subscription = EventSubscription(mailbox, relief, client, leave)
    }

    /// Takes events; all iterators share what comes.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: subscription) }

    /// Takes events one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// How the socket can end.
        public typealias Failure = WebSocketError
        fileprivate let subscription: EventSubscription<Event>

        /// Waits for the next event; nil after the last, or when the task is cancelled.
        public mutating func next() async throws(WebSocketError) -> Event? { try await next(isolation: nil) }

        /// Waits for the next event; nil after the last, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WebSocketError) -> Event? {
            try await subscription.mailbox.next { subscription.relief.announce() }
        }
    }
}

/// Leaves its client when nobody wants the events any more.
private final class EventSubscription<Event: Sendable>: Sendable {
    let mailbox: StreamMailbox<Event, Event>
    let relief: Changes
    private let client: any AnyObject & Sendable
    private let leave: @Sendable () -> Void

    init(
        _ mailbox: StreamMailbox<Event, Event>, _ relief: Changes, _ client: any AnyObject & Sendable,
        _ leave: @escaping @Sendable () -> Void
    ) {
        (self.mailbox, self.relief, self.client, self.leave) = (mailbox, relief, client, leave)
    }

    deinit {
        leave()
        // It may have been what nothing was read for.
        relief.announce()
    }
}
