import Logging
import HoldfastProtocols
import WAMPCore

/// The events of a topic for one subscriber; see ``WAMPClient/subscribe(_:options:buffer:)-(Topic<Content>,_,_)``.
///
/// The subscription lasts as long as this value, or an iteration over it. Several independent subscribers of one topic share one
/// subscription at the router. The subscription survives a lost connection; ``withGaps`` reports where events may be missing. The stream
/// ends when ``end()`` is called or the client is closed, and fails when the router refuses the subscription for good.
///
/// An event that cannot be decoded as the expected type is left out and logged. Only one iteration at a time is allowed.
public struct Events<Content>: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = Event<Content>
    /// The error of a failed stream.
    public typealias Failure = WAMPError
    let feed: EventFeed
    let form: WAMPForm<Content>

    /// The events, with reports of missing ones.
    public var withGaps: EventItems<Content> { EventItems(feed: feed, form: form) }

    /// Ends this subscriber's subscription, and with it the stream.
    public func end() { feed.end() }

    /// Creates an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(items: withGaps.makeAsyncIterator()) }

    /// Iterates over the events.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The error of a failed stream.
        public typealias Failure = WAMPError
        var items: EventItems<Content>.AsyncIterator

        /// Waits for the next event; returns nil after a regular end, or when the task is cancelled.
        public mutating func next() async throws(WAMPError) -> Event<Content>? { try await next(isolation: nil) }

        /// Waits for the next event; returns nil after a regular end, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WAMPError) -> Event<Content>? {
            while let item = try await items.next(isolation: actor) {
                switch item {
                case .event(let event): return event
                case .undecodable(let error): items.feed.shell.context.log(undecodable: error)
                case .gap: break
                }
            }
            return nil
        }
    }
}

/// The events of a topic, with reports of missing ones; see ``Events/withGaps``.
public struct EventItems<Content>: AsyncSequence, Sendable {
    /// An event, a gap, or an event that could not be decoded.
    public typealias Element = EventItem<Content>
    /// The error of a failed stream.
    public typealias Failure = WAMPError
    let feed: EventFeed
    let form: WAMPForm<Content>

    /// Creates an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(feed: feed, form: form) }

    /// Iterates over the elements.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The error of a failed stream.
        public typealias Failure = WAMPError
        let feed: EventFeed
        let form: WAMPForm<Content>

        /// Waits for the next element; returns nil after a regular end, or when the task is cancelled.
        public mutating func next() async throws(WAMPError) -> EventItem<Content>? { try await next(isolation: nil) }

        /// Waits for the next element; returns nil after a regular end, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WAMPError) -> EventItem<Content>? {
            switch try await feed.mailbox.next() {
            case .value(let raw)?:
                do {
                    let content = try form.decode(raw.arguments)
                    return .event(Event(content: content, publication: raw.publication, topic: raw.topic, details: raw.details))
                } catch {
                    return .undecodable(.undecodable(error, "EVENT \(raw.topic)"))
                }
            case .note(let gap)?: return .gap(gap)
            case .dropped(let count)?: return .gap(.dropped(count))
            case nil: return nil
            }
        }
    }
}

/// One subscriber; releasing this object ends its subscription.
final class EventFeed: Sendable {
    let shell: WAMPShell
    let handle: ClientHandle
    let mailbox: EventMailbox

    init(_ shell: WAMPShell, _ handle: ClientHandle, _ mailbox: EventMailbox) {
        (self.shell, self.handle, self.mailbox) = (shell, handle, mailbox)
    }

    deinit { end() }

    func end() { shell.giveUp(handle) }
}
