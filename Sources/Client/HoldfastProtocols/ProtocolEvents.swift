public import Holdfast

/// The events of a ``ProtocolClient`` for one consumer; see ``ProtocolClient/stream(delivery:_:cancel:)``.
///
/// The sequence ends normally after the last event of its request, if this side closes, and if the peer closes with 1000. Otherwise it
/// throws the error of the socket. Once the sequence and its iterator are released, the rules get the `cancel` command.
public struct ProtocolEvents<Event: Sendable>: AsyncSequence, Sendable {
    /// An event of the rules.
    public typealias Element = Event
    /// The error after which the sequence ends.
    public typealias Failure = WebSocketError
    private let subscription: EventSubscription<Event>

    init(
        _ mailbox: StreamMailbox<Event, Event>, _ relief: Changes, holding client: any AnyObject & Sendable,
        leave: @escaping @Sendable () -> Void
    ) {
        subscription = EventSubscription(mailbox, relief, client, leave)
    }

    /// Starts to take events; all iterators share the same events.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: subscription) }

    /// Iterates over the events.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The error after which the sequence ends.
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

/// Unsubscribes from its client when the sequence and its iterators are released.
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
        // Reading may have been paused for this consumer.
        relief.announce()
    }
}
